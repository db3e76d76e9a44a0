import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'

/** Finds what the references of one document mean. Only the document itself is searched: nothing is ever fetched. */
export const referencesIn = (document: JsonObject): ((reference: string) => JsonValue | undefined) => {
  const base = documentUri(document)
  let named: Map<string, JsonObject> | undefined
  return (reference) => {
    if (reference === '#' || reference.startsWith('#/')) return atPointer(document, reference.slice(1))
    named ??= namedIn(document, base)
    const [place = '', fragment = ''] = absolute(reference, base).split('#', 2)
    const within = place === base ? document : named.get(place)
    if (fragment === '' || fragment.startsWith('/')) return within && atPointer(within, fragment)
    return named.get(`${place}#${fragment}`)
  }
}

/** Documents without their own address still have anchors, which need something before them. */
const nowhere = 'schema:/'

const documentUri = (document: JsonObject): string => {
  const id = ownValue(document, '$id') ?? ownValue(document, 'id')
  return typeof id === 'string' ? (absolute(id, nowhere).split('#', 1)[0] ?? nowhere) : nowhere
}

const absolute = (reference: string, base: string): string =>
  URL.canParse(reference, base) ? new URL(reference, base).href : reference

/** Everything in the document that has its own name: embedded documents and anchors. */
const namedIn = (document: JsonObject, documentBase: string): Map<string, JsonObject> => {
  const named = new Map<string, JsonObject>()
  const open: { value: JsonValue; base: string }[] = [{ value: document, base: documentBase }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, base } = next
    if (Array.isArray(value)) for (const item of value) open.push({ value: item, base })
    if (!isJsonObject(value)) continue
    const id = ownValue(value, '$id')
    const inner = typeof id === 'string' ? (absolute(id, base).split('#', 1)[0] ?? base) : base
    if (inner !== base) named.set(inner, value)
    for (const key of ['$anchor', '$dynamicAnchor']) {
      const anchor = ownValue(value, key)
      if (typeof anchor === 'string') named.set(`${inner}#${anchor}`, value)
    }
    for (const child of Object.values(value)) open.push({ value: child, base: inner })
  }
  return named
}

const atPointer = (document: JsonObject, pointer: string): JsonValue | undefined => {
  let place: JsonValue | undefined = document
  for (const step of pointer.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(place)) place = /^\d+$/.test(key) ? place[Number(key)] : undefined
    else place = isJsonObject(place) ? ownValue(place, key) : undefined
  }
  return place
}

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
