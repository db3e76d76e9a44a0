import { approximate, present, type ServerToolForms } from '../wire/serverTools.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** Chat completions have no server tools; these are what vendors added to them. */
export const chatServerTools: Record<NonNullable<OpenAIChatProfile['serverTools']>, ServerToolForms> = {
  openrouter: {
    webSearch: {
      takes: ['allowedDomains', 'blockedDomains', 'location'],
      write: ({ allowedDomains, blockedDomains, location }) => {
        const parameters = present({
          allowed_domains: allowedDomains,
          excluded_domains: blockedDomains,
          user_location: approximate(location),
        })
        return {
          type: 'openrouter:web_search',
          ...(Object.keys(parameters).length > 0 && { parameters }),
        }
      },
    },
    webFetch: { write: () => ({ type: 'openrouter:web_fetch' }) },
    imageGeneration: { write: () => ({ type: 'openrouter:image_generation' }) },
  },
  groq: {
    webSearch: { write: () => ({ type: 'browser_search' }) },
    codeExecution: { write: () => ({ type: 'code_interpreter' }) },
  },
}
