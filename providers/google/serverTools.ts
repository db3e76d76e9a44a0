import { present, type ServerToolForms } from '../wire/serverTools.ts'

/** Gemini's built-in tools. */
export const googleServerTools: ServerToolForms = {
  webSearch: { write: () => ({ googleSearch: {} }) },
  webFetch: { write: () => ({ urlContext: {} }) },
  codeExecution: { write: () => ({ codeExecution: {} }) },
  fileSearch: {
    takes: ['stores', 'maxResults'],
    write: ({ stores, maxResults }) => ({
      fileSearch: { fileSearchStoreNames: stores, ...present({ topK: maxResults }) },
    }),
  },
}
