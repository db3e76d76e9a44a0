import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../messages/json.ts'
import { jsonIn, numberIn, type Row, type SqliteFile, textIn } from './SqliteFile.ts'
import { damaged } from './storeErrors.ts'

/** The place of an item: items that belong to one conversation are in one thread, in their order. */
export type Place = { readonly thread: number; readonly index: number }

/** An item as it is stored. */
export type ItemRow = Place & { readonly data: string }

/** Numbers of items, by thread. */
export type Counts = Readonly<Record<number, number>>

/** A source of items: those of a run, or the store. Throws for one that is not there. */
export type ItemSource = { at(thread: unknown, index: unknown): object }

/** The items that a run builds on: those of another one, as many of each thread. */
export type Base = { run: number; counts: Counts }

/** The JSON of an item, if it had to be written out, and its digest. */
type ItemJson = { digest: string; data?: string }

/** The last items, which a chart's copies are compared with: they share their texts, which need not be read for that. */
const recentItems = 4

/** The thread of items that are not part of a conversation. */
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
  #recent: readonly object[] = []
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

  /** Measures how far a list, from one of its elements on, is the same as a thread. Long lists are, from end to end. */
  rangeAt(list: readonly unknown[], from: number): (Place & { count: number }) | undefined {
    const first = list[from]
    const place = typeof first === 'object' && first !== null ? this.#places.get(first) : undefined
    const items = place && this.#threads.get(place.thread)
    if (!items) return undefined
    let count = 1
    while (from + count < list.length && items[place.index + count] === list[from + count]) count += 1
    return { ...place, count }
  }

  /** Finds or makes the place of a single item. */
  place(item: object): Place {
    const known = this.#places.get(item)
    if (known) return known
    const json = this.#jsonOf(item)
    return this.#alias(item, this.#byDigest.get(json.digest)) ?? this.#add(item, looseThread, json)
  }

  /** Finds or makes the place of an item of a list, which comes after another one or is the first. */
  placeAfter(item: object, before: Place | undefined): Place {
    const known = this.#places.get(item)
    if (known) return known
    const json = this.#jsonOf(item)
    const { digest } = json
    if (!before) return this.#alias(item, this.#byDigest.get(digest)) ?? this.#addThread(item, json)
    const next = this.#threads.get(before.thread)?.[before.index + 1]
    // At the end of a thread it is new, even if an equal item is there already: so a list stays one range.
    if (!next) return this.#add(item, before.thread, json)
    const place = { thread: before.thread, index: before.index + 1 }
    const copied = this.#digests.get(next) === digest ? place : this.#byDigest.get(digest)
    return this.#alias(item, copied) ?? this.#addThread(item, json)
  }

  /** Items that are not stored yet. Call `stored` once they are committed. */
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

  #addThread(item: object, json: ItemJson): Place {
    const thread = Math.max(...this.#threads.keys()) + 1
    this.#threads.set(thread, [])
    return this.#add(item, thread, json)
  }

  /** The JSON of an item. A copy of one of the last items is neither written out nor digested again. */
  #jsonOf(item: object): ItemJson {
    const same = this.#recent.find((recent) => isDeepStrictEqual(recent, item))
    const known = same && this.#digests.get(same)
    if (known !== undefined) return { digest: known }
    const data = JSON.stringify(item)
    return { data, digest: digestOf(data) }
  }

  #add(item: object, thread: number, { digest, data = JSON.stringify(item) }: ItemJson): Place {
    const place = { thread, index: this.#threads.get(thread)?.length ?? 0 }
    this.#fresh.push({ ...place, data })
    return this.#keep(item, place, digest)
  }

  #keep(item: object, place: Place, digest: string): Place {
    this.#threads.get(place.thread)?.push(item)
    this.#places.set(item, place)
    // The first of equal items: a copy of a list then begins where the list does, and is not appended to it again.
    if (!this.#byDigest.has(digest)) this.#byDigest.set(digest, place)
    this.#digests.set(item, digest)
    this.#recent = [...this.#recent.slice(1 - recentItems), item]
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

/** The table of items. Those of the run below are shared, not copied. */
export class ItemRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  insert(run: number, items: readonly ItemRow[]): void {
    for (const { thread, index, data } of items)
      this.#file.run(
        'INSERT INTO items (run, thread, idx, data) VALUES (?, ?, ?, ?)',
        run,
        thread,
        index,
        data,
      )
  }

  /** Loads everything that a run may refer to. */
  load(run: number, base: Base | undefined): Items {
    return itemsOf([...(base ? this.#inherited(base) : []), ...this.#rows(run, undefined)])
  }

  /** Loads what a run that is not stored yet may refer to. */
  inherit(base: Base | undefined): Items {
    return itemsOf(base ? this.#inherited(base) : [])
  }

  /** Finds one item of a run, or of those below it. */
  find(run: number, base: Base | undefined, thread: number, index: number): string {
    for (let at: { run: number; base: Base | undefined } | undefined = { run, base }; at; ) {
      const row = this.#file.get(
        'SELECT data FROM items WHERE run = ? AND thread = ? AND idx = ?',
        at.run,
        thread,
        index,
      )
      if (row) return textIn(row, 'data')
      const below: Base | undefined = index < (at.base?.counts[thread] ?? 0) ? at.base : undefined
      at = below && { run: below.run, base: this.#baseOf(below.run) }
    }
    throw damaged(`item ${index} of thread ${thread} is missing`)
  }

  /** The rows below a run, from the nearest run down to the lowest. */
  #inherited({ run, counts }: Base): ItemRow[] {
    const found: ItemRow[] = []
    for (let at: Base | undefined = { run, counts }; at; ) {
      found.push(...this.#rows(at.run, at.counts))
      const below: Base | undefined = this.#baseOf(at.run)
      at = below && { run: below.run, counts: leastOf(at.counts, below.counts) }
    }
    return found
  }

  #rows(run: number, counts: Counts | undefined): ItemRow[] {
    const rows = this.#file.all('SELECT thread, idx, data FROM items WHERE run = ?', run)
    return rows.flatMap((row) => {
      const [thread, index] = [numberIn(row, 'thread'), numberIn(row, 'idx')]
      return counts && !(index < (counts[thread] ?? 0)) ? [] : [{ thread, index, data: textIn(row, 'data') }]
    })
  }

  #baseOf(run: number): Base | undefined {
    const row = this.#file.get('SELECT base, counts FROM runs WHERE n = ?', run)
    if (!row || row.base === null) return undefined
    const base = baseIn(row)
    // Older runs only: so there is an end.
    if (base.run >= run) throw damaged('a run builds on a newer one')
    return base
  }
}

const itemsOf = (rows: ItemRow[]): Items => {
  const items = new Items()
  for (const row of rows.sort(byPlace)) items.load(row)
  return items
}

const byPlace = (a: ItemRow, b: ItemRow): number => a.thread - b.thread || a.index - b.index

/** The smaller count of each thread: one that ends early further up has no more items further down. */
const leastOf = (above: Counts, below: Counts): Counts =>
  Object.fromEntries(
    Object.entries(below).flatMap(([thread, count]) => {
      const wanted = above[Number(thread)]
      return wanted === undefined ? [] : [[thread, Math.min(wanted, count)]]
    }),
  )

/** The base of a row. */
export const baseIn = (row: Row): Base => {
  const counts = jsonIn(row, 'counts')
  if (!isJsonObject(counts) || !Object.values(counts).every(Number.isInteger))
    throw damaged('the base of a run has no counts')
  return { run: numberIn(row, 'base'), counts: counts as Counts }
}
