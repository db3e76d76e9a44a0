import type { DataPart, LinkPart } from '../messages/messages.ts'

/** A file that a client names by its address: its bytes, if they are in the address, or else a link that the model follows. */
export const mediaPart = (url: string, mimeType?: string, name?: string): DataPart | LinkPart | undefined => {
  const named = name === undefined ? {} : { name }
  const comma = url.indexOf(',')
  // Checked piece by piece: a pattern over megabytes of base64 would be slow.
  if (/^data:/i.test(url)) {
    const [type = '', ...settings] = url.slice(5, comma).split(';')
    if (comma < 0 || comma > 200 || settings.at(-1)?.toLowerCase() !== 'base64') return undefined
    const given = mimeType ?? (type === '' ? 'application/octet-stream' : type)
    return { type: 'data', mimeType: given, data: url.slice(comma + 1), ...named }
  }
  if (!/^https?:\/\//i.test(url)) return undefined
  return { type: 'link', url, ...(mimeType !== undefined && { mimeType }), ...named }
}
