import type { HostedFrom } from '../../agent/options.ts'
import { StatewireError } from '../../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../messages/json.ts'
import type { ChatMessage, Part } from '../../messages/messages.ts'
import type { Counts, ItemSource, Items, Place } from './Items.ts'
import { damaged } from './storeErrors.ts'

// A snapshot names the same messages several times, and most of them in every step. In its packed form each of them is a
// place in the items of the run: `{"$m":[[thread,first,count],…]}` is a list of them, `{"$i":[thread,index]}` a single
// one. A user's key that begins with "$" gets another "$", so that it is not taken for a place.

/** A part of a message is written out up to this length: its own row would cost more. */
const shortPart = 1000

/** Writes a value as JSON, with its messages and large parts as places. New ones join the items. */
export const pack = (value: unknown, items: Items): string =>
  JSON.stringify(value, (key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null) return inner
    if (Array.isArray(inner)) return isItemList(key, inner, items) ? { $m: ranges(inner, items) } : inner
    if (isMessage(inner) || isLargePart(inner)) return { $i: pairOf(items.place(inner)) }
    return hasDollar(inner) ? renamed(inner, escaped) : inner
  })

/** Reads a packed value. Throws if it is not as `pack` made it. */
export const unpack = (packed: string, items: ItemSource): unknown => {
  try {
    return JSON.parse(packed, (_, inner: unknown) => {
      if (!isJsonObject(inner) || !hasDollar(inner)) return inner
      if (Array.isArray(inner.$m)) return inner.$m.flatMap((range) => rangeOf(range, items))
      if (Array.isArray(inner.$i)) return items.at(inner.$i[0], inner.$i[1])
      return renamed(inner, unescaped)
    })
  } catch (thrown) {
    throw thrown instanceof StatewireError ? thrown : damaged('a run is not JSON')
  }
}

/** Reads the snapshot of a run without its messages. */
export const packedSnapshotOf = (packed: string): unknown => {
  try {
    return Object(JSON.parse(packed)).snapshot
  } catch {
    throw damaged('a run is not JSON')
  }
}

/** Reads what a run continues from: its input if it has not started, or a snapshot, which its machine checks. */
export const hostedFrom = (packedSnapshot: string, items: ItemSource): HostedFrom => {
  const from = unpack(packedSnapshot, items)
  if (!isHostedFrom(from)) throw damaged('a run has neither an input nor a snapshot')
  return from
}

const isHostedFrom = (from: unknown): from is HostedFrom =>
  isJsonObject(from) && (isJsonObject(from.snapshot) || isJsonObject(from.input))

/** Counts how much of each thread a packed value refers to. */
export const extentOf = (packed: string): Counts => {
  const counts = new Map<number, number>()
  const reach = (thread: unknown, end: number) =>
    counts.set(Number(thread), Math.max(end, counts.get(Number(thread)) ?? 0))
  JSON.parse(packed, (_, inner: unknown) => {
    if (!isJsonObject(inner)) return inner
    const { $m: list, $i: place } = inner
    if (Array.isArray(list))
      for (const [thread, first, count] of list.filter(Array.isArray))
        reach(thread, Number(first) + Number(count))
    if (Array.isArray(place)) reach(place[0], Number(place[1]) + 1)
    return inner
  })
  return Object.fromEntries(counts)
}

const ranges = (list: readonly object[], items: Items): [number, number, number][] => {
  const found: [number, number, number][] = []
  for (let from = 0; from < list.length; ) {
    const last = found.at(-1)
    const before = last && { thread: last[0], index: last[1] + last[2] - 1 }
    const range = items.rangeAt(list, from) ?? { ...items.placeAfter(list[from] ?? {}, before), count: 1 }
    const { thread, index, count } = range
    if (last && last[0] === thread && last[1] + last[2] === index) last[2] += count
    else found.push([thread, index, count])
    from += count
  }
  return found
}

const rangeOf = (range: unknown, items: ItemSource): object[] => {
  const [thread, first, count]: unknown[] = Array.isArray(range) ? range : []
  if (typeof first !== 'number' || typeof count !== 'number') throw damaged('a range of a list has no bounds')
  const found: object[] = []
  // A damaged count, however large, ends at the first item that is not there.
  for (let index = first; index < first + count; index += 1) found.push(items.at(thread, index))
  return found
}

const pairOf = ({ thread, index }: Place): [number, number] => [thread, index]

/** Recognises a conversation, or metadata that grows with it. */
const isItemList = (key: string, list: readonly unknown[], items: Items): list is readonly object[] => {
  const isItem = key === 'metadata' ? isJsonObject : isMessage
  for (let from = 0; from < list.length; ) {
    const range = items.rangeAt(list, from)
    if (!range && !isItem(list[from])) return false
    from += range?.count ?? 1
  }
  return list.length > 0
}

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'model'] satisfies ChatMessage['role'][])

const isMessage = (value: unknown): value is object =>
  isJsonObject(value) && roles.has(value.role) && Array.isArray(value.parts)

const partTypes: ReadonlySet<unknown> = new Set(['toolCall', 'toolResult'] satisfies Part['type'][])
const shortParts = new WeakSet<object>()

const isLargePart = (value: object): boolean => {
  if (!isJsonObject(value) || !partTypes.has(value.type) || shortParts.has(value)) return false
  const isLarge = JSON.stringify(value).length > shortPart
  if (!isLarge) shortParts.add(value)
  return isLarge
}

const hasDollar = (value: object): boolean => Object.keys(value).some((name) => name.startsWith('$'))

const escaped = (name: string): string => (name.startsWith('$') ? `$${name}` : name)

const unescaped = (name: string): string => {
  if (!name.startsWith('$')) return name
  if (!name.startsWith('$$')) throw damaged(`"${name}" is not a place`)
  return name.slice(1)
}

const renamed = (value: object, rename: (name: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [rename(name), inner]))
