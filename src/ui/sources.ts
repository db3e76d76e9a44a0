import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { objectsIn } from './clientMessages.ts'

/** A page that an answer cites. */
export type Source = { sourceId: string; url: string; title?: string }

/** The most sources of an answer that are shown. */
const mostSources = 200

/**
 * The pages that a message cites, each once. Providers describe them in their own ways, which are kept in the metadata of
 * the message: the address alone, an object with it, or an object around that.
 */
export const sourcesOf = ({ metadata = {} }: ChatMessage): Source[] => {
  const grounded = objectsIn(metadata.grounding).map(({ groundingChunks }) => groundingChunks)
  const lists = [metadata.citations, metadata.searchResults, ...grounded]
  const sources = new Map<string, Source>()
  for (const { url, title } of lists.flatMap((list) => list ?? []).flatMap(pagesIn)) {
    const known = sources.get(url)
    if (known && title !== undefined) known.title ??= title
    if (known || sources.size === mostSources) continue
    sources.set(url, { sourceId: `source-${sources.size + 1}`, url, ...(title !== undefined && { title }) })
  }
  return [...sources.values()]
}

type Page = Omit<Source, 'sourceId'>

const pagesIn = (cited: JsonValue): Page[] => {
  if (typeof cited === 'string') return pageOf({ url: cited })
  if (!isJsonObject(cited)) return []
  const { url_citation, web, sources } = cited
  const around = objectsIn(sources).flatMap((source) => [source, source.document])
  return [cited, url_citation, web, ...around].filter(isJsonObject).flatMap(pageOf)
}

/** Takes only addresses of the web: a page makes links of them. */
const pageOf = ({ url, uri = url, title }: JsonObject): Page[] =>
  typeof uri === 'string' && /^https?:\/\//i.test(uri)
    ? [{ url: uri, ...(typeof title === 'string' && title !== '' && { title }) }]
    : []
