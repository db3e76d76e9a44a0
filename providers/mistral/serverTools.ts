import type { ServerToolForms } from '../wire/serverTools.ts'

/** Mistral's connectors. */
export const mistralServerTools: ServerToolForms = {
  webSearch: { write: () => ({ type: 'web_search' }) },
  codeExecution: { write: () => ({ type: 'code_interpreter' }) },
  imageGeneration: { write: () => ({ type: 'image_generation' }) },
  fileSearch: {
    takes: ['stores'],
    write: ({ stores }) => ({ type: 'document_library', library_ids: stores }),
  },
}
