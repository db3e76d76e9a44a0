import type { WebSearch } from '../../src/model/serverTools.ts'
import { approximate, present, type ServerToolForm, type ServerToolForms } from '../wire/serverTools.ts'
import type { AnthropicProfile } from './profile.ts'

const webSearch: ServerToolForm<WebSearch> = {
  takes: ['maxUses', 'allowedDomains', 'blockedDomains', 'location'],
  write: ({ maxUses, allowedDomains, blockedDomains, location }) => ({
    type: 'web_search_20250305',
    name: 'web_search',
    ...present({
      max_uses: maxUses,
      allowed_domains: allowedDomains,
      blocked_domains: blockedDomains,
      user_location: approximate(location),
    }),
  }),
}

/** Anthropic's server tools, in the versions that every model takes; newer ones can be given as they are. */
const all: ServerToolForms = {
  webSearch,
  webFetch: {
    takes: ['maxUses', 'allowedDomains', 'blockedDomains'],
    write: ({ maxUses, allowedDomains, blockedDomains }) => ({
      type: 'web_fetch_20250910',
      name: 'web_fetch',
      ...present({
        max_uses: maxUses,
        allowed_domains: allowedDomains,
        blocked_domains: blockedDomains,
      }),
    }),
  },
  codeExecution: { write: () => ({ type: 'code_execution_20250825', name: 'code_execution' }) },
}

/** The server tools that there are where the model is. */
export const anthropicServerTools = ({ serverTools }: AnthropicProfile): ServerToolForms => {
  if (serverTools === undefined) return all
  return serverTools === 'none' ? {} : { webSearch }
}
