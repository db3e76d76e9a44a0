import type { ConnectionOptions } from './provider.ts'

/** Whether the user points a preset at another host than its own: then nobody knows what answers there. */
export const isOtherServer = (ownBaseUrl: string, { baseUrl }: Pick<ConnectionOptions, 'baseUrl'>): boolean =>
  baseUrl !== undefined && hostOf(baseUrl) !== hostOf(ownBaseUrl)

const hostOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).host : undefined)
