import type { JsonObject } from '../../src/messages/json.ts'
import { numberAt, stringAt } from '../wireJson.ts'

/** One item of the answer while it is being written. */
export class OutputItem {
  readonly type: string
  readonly index: number
  /** Among the tool calls of this answer, in the order they were opened. */
  readonly callOrder: number
  id = ''
  /** The item as it was announced, and as it was when done. */
  announced: JsonObject | undefined
  done: JsonObject | undefined
  /** The content parts that have given text; a part that streamed is not read again from a whole. */
  readonly parts = new Set<number>()
  textLength = 0
  isCited = false
  isReported = false
  callId = ''
  name = ''
  /** Arguments of a function call or input of a custom one: the pieces so far, and the whole once it was told. */
  pieces = ''
  whole: unknown

  constructor(type: string, index: number, callOrder: number) {
    this.type = type
    this.index = index
    this.callOrder = callOrder
  }

  get isCall(): boolean {
    return isCallType(this.type)
  }

  /** Takes what names the item. Ids may change with every event, so the first one is kept. */
  identify(item: JsonObject): void {
    this.id ||= stringAt(item, 'id') ?? ''
    this.callId ||= stringAt(item, 'call_id') ?? ''
    this.name ||= stringAt(item, 'name') ?? ''
  }

  /** Takes the whole item. A later telling may lack the encrypted reasoning of an earlier one. */
  finish(whole: JsonObject): void {
    const encrypted = stringAt(this.done, 'encrypted_content')
    if (!encrypted || stringAt(whole, 'encrypted_content')) this.done = whole
  }

  /** An item nothing but an empty shell was told of is no call. */
  get hasContent(): boolean {
    return this.name !== '' || this.pieces !== '' || this.whole !== undefined
  }

  isSameAs(item: JsonObject): boolean {
    const callId = stringAt(item, 'call_id')
    if (this.callId && callId) return this.callId === callId
    return this.id !== '' && this.id === stringAt(item, 'id')
  }

  /** Whether this is certainly another call than `item`. */
  isOtherCallThan(item: JsonObject): boolean {
    return this.callId !== '' && Boolean(stringAt(item, 'call_id')) && !this.isSameAs(item)
  }
}

const isCallType = (type: string): boolean => type === 'function_call' || type === 'custom_tool_call'

/**
 * The items of one answer. Their key is the output index together with the type: ids rotate on some servers, items
 * may never be announced, and servers that number everything 0 still keep text, reasoning and calls apart. Only
 * where one place holds several items of a type do ids decide.
 */
export class OutputItems {
  readonly #all: OutputItem[] = []
  readonly #places = new Map<string, Map<number, OutputItem[]>>()
  readonly #byId = new Map<string, OutputItem>()
  readonly #latest = new Map<string, OutputItem>()
  #calls = 0

  /** In the order of the answer. */
  inOrder(): OutputItem[] {
    return this.#all.toSorted((a, b) => a.index - b.index)
  }

  /** The item a piece of content belongs to, created if nobody announced it. */
  at(type: string, event: JsonObject): OutputItem {
    const index = numberAt(event, 'output_index')
    const id = stringAt(event, 'item_id') ?? ''
    return this.#find(type, index, id) ?? this.#open(type, index, id)
  }

  announce(item: JsonObject, event: JsonObject): OutputItem {
    const { type, index, id } = placeOf(item, event)
    const known = this.#find(type, index, id)
    const isNew = !known || (known.announced !== undefined && !known.isSameAs(item))
    return this.#identified(isNew ? this.#open(type, index, id) : known, item)
  }

  finish(item: JsonObject, event: JsonObject): OutputItem {
    const { type, index, id } = placeOf(item, event)
    const place = this.#place(type, index)
    const known = place
      ? (place.find((other) => other.isSameAs(item)) ??
        place.find((other) => !other.done && !other.isOtherCallThan(item)))
      : this.#find(type, index, id)
    const isNew = !known || known.isOtherCallThan(item) || (known.done && !known.isSameAs(item))
    return this.#identified(isNew ? this.#open(type, index, id) : known, item)
  }

  /**
   * Pairs the items of a whole response with those already seen: by id, else in order within their type. Positions
   * in that list are not output indexes, and some servers renew all ids for it.
   */
  pair(items: readonly JsonObject[]): [OutputItem, JsonObject][] {
    const unpaired = new Set(this.inOrder())
    const pairs = new Map<JsonObject, OutputItem>()
    const pairWhere = (item: JsonObject, matches: (known: OutputItem) => boolean) => {
      if (pairs.has(item)) return
      for (const known of unpaired) {
        if (known.type !== stringAt(item, 'type') || !matches(known)) continue
        pairs.set(item, known)
        unpaired.delete(known)
        return
      }
    }
    for (const item of items) pairWhere(item, (known) => known.isSameAs(item))
    for (const item of items) pairWhere(item, (known) => !known.isOtherCallThan(item))
    return items.map((item, position) => {
      const type = stringAt(item, 'type') ?? ''
      const known = pairs.get(item) ?? this.#open(type, position, stringAt(item, 'id') ?? '')
      return [this.#identified(known, item), item]
    })
  }

  #place(type: string, index: number | undefined): OutputItem[] | undefined {
    return index === undefined ? undefined : this.#places.get(type)?.get(index)
  }

  #find(type: string, index: number | undefined, id: string): OutputItem | undefined {
    const place = this.#place(type, index)
    if (place) return (place.length > 1 && place.find((item) => item.id === id)) || place.at(-1)
    const sameId = id === '' ? undefined : this.#byId.get(`${type}:${id}`)
    return sameId ?? (index === undefined ? this.#latest.get(type) : undefined)
  }

  #open(type: string, index: number | undefined, id: string): OutputItem {
    const item = new OutputItem(type, index ?? this.#all.length, this.#calls)
    if (item.isCall) this.#calls += 1
    const ofType = this.#places.get(type) ?? new Map<number, OutputItem[]>()
    this.#places.set(type, ofType.set(item.index, [...(ofType.get(item.index) ?? []), item]))
    item.id = id
    if (id !== '') this.#byId.set(`${type}:${id}`, item)
    this.#latest.set(type, item)
    this.#all.push(item)
    return item
  }

  #identified(known: OutputItem, item: JsonObject): OutputItem {
    known.identify(item)
    if (known.id !== '') this.#byId.set(`${known.type}:${known.id}`, known)
    return known
  }
}

const placeOf = (item: JsonObject, event: JsonObject) => ({
  type: stringAt(item, 'type') ?? '',
  index: numberAt(event, 'output_index'),
  id: stringAt(item, 'id') ?? '',
})
