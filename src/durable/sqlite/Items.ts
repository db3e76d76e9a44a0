import { createHash } from 'node:crypto'
import { damaged } from './storeError.ts'

/** Where an item is: items that belong to one conversation are in one thread, in their order. */
export type Place = { readonly thread: number; readonly index: number }

/** An item as it is stored. */
export type ItemRow = Place & { readonly data: string }

/** How many items there are, by thread. */
export type Counts = Readonly<Record<number, number>>

/** Where items come from: those of a run, or the store. Throws for one that is not there. */
export type ItemSource = { at(thread: unknown, index: unknown): object }

/** Things that stand alone. */
const looseThread = 0

/**
 * The messages of a run and other values that are stored once. An item is recognised as an object, or, where a chart
 * has copied it, by the digest of its JSON. Items are never changed.
 */
export class Items implements ItemSource {
  readonly #threads = new Map<number, object[]>([[looseThread, []]])
  readonly #places = new WeakMap<object, Place>()
  readonly #byDigest = new Map<string, Place>()
  readonly #digests = new Map<object, string>()
  #fresh: ItemRow[] = []

  /** Takes in what was stored, in the order of threads and indices. */
  load({ thread, index, data }: ItemRow): void {
    const items = this.#threads.get(thread) ?? []
    if (index !== items.length) throw damaged(`item ${items.length} of thread ${thread} is missing`)
    this.#threads.set(thread, items)
    this.#keep(itemFrom(data), { thread, index }, digestOf(data))
  }

  at(thread: unknown, index: unknown): object {
    const item = typeof thread === 'number' && typeof index === 'number' && this.#threads.get(thread)?.[index]
    if (!item) throw damaged(`item ${String(index)} of thread ${String(thread)} is missing`)
    return item
  }

  /** How far a list, from one of its elements on, is the same as a thread. Long lists are, from end to end. */
  rangeAt(list: readonly unknown[], from: number): (Place & { count: number }) | undefined {
    const first = list[from]
    const place = typeof first === 'object' && first !== null ? this.#places.get(first) : undefined
    const items = place && this.#threads.get(place.thread)
    if (!items) return undefined
    let count = 1
    while (from + count < list.length && items[place.index + count] === list[from + count]) count += 1
    return { ...place, count }
  }

  /** The place of an item that stands alone. */
  place(item: object): Place {
    const known = this.#places.get(item)
    if (known) return known
    const data = JSON.stringify(item)
    const digest = digestOf(data)
    return this.#alias(item, this.#byDigest.get(digest)) ?? this.#add(item, looseThread, data, digest)
  }

  /** The place of an item of a list, which comes after another one or is the first. */
  placeAfter(item: object, before: Place | undefined): Place {
    const known = this.#places.get(item)
    if (known) return known
    const data = JSON.stringify(item)
    const digest = digestOf(data)
    if (!before) return this.#alias(item, this.#byDigest.get(digest)) ?? this.#addThread(item, data, digest)
    const next = this.#threads.get(before.thread)?.[before.index + 1]
    // At the end of a thread it is new, even if the same was said before: so a list stays one range.
    if (!next) return this.#add(item, before.thread, data, digest)
    const place = { thread: before.thread, index: before.index + 1 }
    const copied = this.#digests.get(next) === digest ? place : this.#byDigest.get(digest)
    return this.#alias(item, copied) ?? this.#addThread(item, data, digest)
  }

  /** What is not stored yet. It counts as stored once `stored` was called. */
  get fresh(): readonly ItemRow[] {
    return this.#fresh
  }

  stored(): void {
    this.#fresh = []
  }

  #alias(item: object, place: Place | undefined): Place | undefined {
    if (place) this.#places.set(item, place)
    return place
  }

  #addThread(item: object, data: string, digest: string): Place {
    const thread = Math.max(...this.#threads.keys()) + 1
    this.#threads.set(thread, [])
    return this.#add(item, thread, data, digest)
  }

  #add(item: object, thread: number, data: string, digest: string): Place {
    const place = { thread, index: this.#threads.get(thread)?.length ?? 0 }
    this.#fresh.push({ ...place, data })
    return this.#keep(item, place, digest)
  }

  #keep(item: object, place: Place, digest: string): Place {
    this.#threads.get(place.thread)?.push(item)
    this.#places.set(item, place)
    this.#byDigest.set(digest, place)
    this.#digests.set(item, digest)
    return place
  }
}

const digestOf = (json: string): string => createHash('sha256').update(json).digest('base64')

export const itemFrom = (data: string): object => {
  try {
    const item: unknown = JSON.parse(data)
    if (typeof item === 'object' && item !== null) return item
  } catch {
    // As below.
  }
  throw damaged('an item is not JSON')
}
