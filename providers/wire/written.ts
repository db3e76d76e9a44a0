import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import * as unchanging from '../../src/model/unchanging.ts'

// A conversation sends the same messages and tools in every request. What each of them is on a wire is kept with it, and so
// is its text: a request writes what is new. Both go when the message goes.

type Written = { target: object; key: string; items: JsonObject[] }

const written = new WeakMap<object, Written>()

/** The texts of the objects that later requests repeat; empty until one is sent. */
const texts = new WeakMap<object, string>()

/** Says whether an object goes into later requests as it is. */
export const isRepeated = (object: object): boolean => texts.has(object) || unchanging.isUnchanging(object)

/**
 * The objects that a message, a part of one or a tool is on a wire, made once. They must follow from the `source`, the
 * `target` and the `key` alone, and are never changed. A source that a caller may change is written each time.
 */
export const writtenOnce = (
  source: object,
  target: object,
  key: string,
  write: () => JsonObject[],
): JsonObject[] => {
  const known = written.get(source)
  if (known?.target === target && known.key === key) return known.items
  const items = write()
  if (!isRepeated(source)) return items
  for (const item of items) texts.set(item, '')
  written.set(source, { target, key, items })
  return items
}

const systems = new WeakMap<object, JsonObject>()

/** The system prompt on a wire: the same object until it is another text. */
export const systemOnce = (target: object, role: string, content: string): JsonObject => {
  const known = systems.get(target)
  if (known?.role === role && known.content === content) return known
  const item = { role, content }
  texts.set(item, '')
  systems.set(target, item)
  return item
}

/**
 * A body as text: what `JSON.stringify` writes, with a replacement character for each half of a character, which a tool or
 * a cut can leave behind: Anthropic refuses a history with one for ever.
 */
export const bodyText = (body: JsonObject): string => objectText(body, listText)

const objectText = (object: JsonObject, textOf: (value: JsonValue) => string): string => {
  let text = ''
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${textOf(value)}`
  }
  return `{${text}}`
}

/** A list of messages or tools; anything else is written as it is. */
const listText = (value: JsonValue): string =>
  Array.isArray(value) ? `[${itemsText(value)}]` : wellFormed(value)

/** The text of the first `count` of some items. */
type WrittenItems = { items: readonly JsonValue[]; count: number; text: string }

/** The beginnings of lists, of unchanging items, by the last of these: the next request of a conversation begins with one. */
const beginnings = new WeakMap<object, WrittenItems>()

/** The length of lists of which nothing is kept, because they are soon written. */
const shortList = 16

/** The most items after a beginning: a step adds an answer and its results. */
const mostAdded = 64

const itemsText = (items: readonly JsonValue[]): string => {
  if (items.length <= shortList) return items.map(itemText).join(',')
  const known = beginningOf(items)
  let text = known?.text ?? ''
  let kept: WrittenItems = known ?? { items, count: 0, text }
  for (let count = kept.count; count < items.length; count += 1) {
    const item = items[count] ?? null
    const isKept = kept.count === count && isUnchanging(item)
    text += count === 0 ? itemText(item) : `,${itemText(item)}`
    if (isKept) kept = { items, count: count + 1, text }
  }
  const [before, last] = [known, kept].map((each) => each?.items[each.count - 1])
  if (isUnchanging(before)) beginnings.delete(before)
  if (isUnchanging(last)) beginnings.set(last, kept)
  return text
}

/** The longest beginning that was written before. */
const beginningOf = (items: readonly JsonValue[]): WrittenItems | undefined => {
  for (let count = items.length; count > 0 && items.length - count <= mostAdded; count -= 1) {
    const last = items[count - 1]
    const known = isUnchanging(last) ? beginnings.get(last) : undefined
    if (known?.count === count && items.every((item, at) => at >= count || item === known.items[at]))
      return known
  }
  return undefined
}

const isUnchanging = (item: JsonValue | undefined): item is JsonObject =>
  typeof item === 'object' && item !== null && texts.has(item)

/** A message whose blocks are kept one by one is joined of them: neighbours become one message on some wires. */
const itemText = (item: JsonValue): string => {
  if (typeof item !== 'object' || item === null) return wellFormed(item ?? null)
  if (texts.has(item)) return keptText(item)
  const { content, parts } = item as JsonObject
  return isBlockList(content) || isBlockList(parts)
    ? objectText(item as JsonObject, blocksText)
    : wellFormed(item)
}

const isBlockList = (value: JsonValue | undefined): boolean =>
  Array.isArray(value) && !Array.isArray(value[0])

const blocksText = (value: JsonValue): string =>
  Array.isArray(value) ? `[${value.map(keptText).join(',')}]` : wellFormed(value)

const keptText = (value: JsonValue): string => {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined
  if (known) return known
  const text = wellFormed(value ?? null)
  if (known === '') texts.set(value as JsonObject, text)
  return text
}

/** JSON writes half a character as an escape, and nothing else of that kind. */
const wellFormed = (value: JsonValue): string => {
  const text = JSON.stringify(value)
  if (!text.includes('\\ud')) return text
  return text.replace(/\\(ud[89a-f][0-9a-f]{2}|.)/g, (whole, code: string) =>
    code.length > 1 ? '\ufffd' : whole,
  )
}
