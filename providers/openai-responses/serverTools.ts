import { approximate, present, type ServerToolForms } from '../wire/serverTools.ts'

/** The built-in tools of the Responses API. */
export const responsesServerTools: ServerToolForms = {
  webSearch: {
    takes: ['allowedDomains', 'location'],
    write: ({ allowedDomains, location }) => ({
      type: 'web_search',
      ...(allowedDomains && { filters: { allowed_domains: allowedDomains } }),
      ...present({ user_location: approximate(location) }),
    }),
  },
  codeExecution: { write: () => ({ type: 'code_interpreter', container: { type: 'auto' } }) },
  fileSearch: {
    takes: ['stores', 'maxResults'],
    write: ({ stores, maxResults }) => ({
      type: 'file_search',
      vector_store_ids: stores,
      ...present({ max_num_results: maxResults }),
    }),
  },
  imageGeneration: { write: () => ({ type: 'image_generation' }) },
}
