import { approximate, present, type ServerToolForms } from '../serverTools.ts'

/** Anthropic's server tools, in the versions that every model takes; newer ones can be given as they are. */
export const anthropicServerTools: ServerToolForms = {
  webSearch: {
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
  },
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
