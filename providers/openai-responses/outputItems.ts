import type { JsonObject } from '../../src/messages/json.ts'
import { numberAt, stringAt } from '../wire/json.ts'

/** An item of the answer while it is being written. */
export class OutputItem {
  readonly type: string
  readonly index: number
  /** The position among the tool calls of this answer, in the order in which they were opened. */
  readonly callOrder: number
  id = ''
  /** The item as it was announced, and as it was when done. */
  announced: JsonObject | undefined
  done: JsonObject | undefined
  /** The content parts that have given text; a part that streamed is not read again from a whole. */
  readonly parts = new Set<number>()
  textLength = 0
  /** The text of a message that is not the answer: what the model says while it works. */
  commentary = ''
  /** The space that was added before the text, after commentary. */
  gap = ''
  isCited = false
  isReported = false
  callId = ''
  name = ''
  /** Arguments of a function call or input of a custom one: the pieces so far, and the whole once it came. */
  pieces = ''
  whole: unknown

  constructor(type: string, index: number, callOrder: number) {
    this.type = type
    this.index = index
    this.callOrder = callOrder
  }

  /** True for a call that the client answers. The calls that xAI's search on X makes of its own tools look like them. */
  get isCall(): boolean {
    return isCallType(this.type) && !this.callId.startsWith('xs_')
  }

  /** True for text that is not the answer; models since gpt-5.3 mark it. */
  get isCommentary(): boolean {
    return stringAt(this.done ?? this.announced, 'phase') === 'commentary'
  }

  /** Takes what names the item. Ids may change with every event, so the first one is kept. */
  identify(item: JsonObject): void {
    this.id ||= stringAt(item, 'id') ?? ''
    // A request for an approval is answered by its own id.
    const callId = item.type === 'mcp_approval_request' ? 'id' : 'call_id'
    this.callId ||= stringAt(item, callId) ?? ''
    this.name ||= stringAt(item, 'name') ?? ''
  }

  /** Takes the whole item. A later copy may lack the encrypted reasoning of an earlier one. */
  finish(whole: JsonObject): void {
    const encrypted = stringAt(this.done, 'encrypted_content')
    if (!encrypted || stringAt(whole, 'encrypted_content')) this.done = whole
  }

  /** An item of which only an empty shell came is not a call. */
  get hasContent(): boolean {
    return this.name !== '' || this.pieces !== '' || this.whole !== undefined
  }

  isSameAs(item: JsonObject): boolean {
    const callId = stringAt(item, 'call_id')
    if (this.callId && callId) return this.callId === callId
    return this.id !== '' && this.id === stringAt(item, 'id')
  }

  /** True where this is certainly another call than `item`. A tool of the server may change its ids. */
  isOtherCallThan(item: JsonObject): boolean {
    return (
      isCallType(this.type) &&
      this.callId !== '' &&
      Boolean(stringAt(item, 'call_id')) &&
      !this.isSameAs(item)
    )
  }
}

const isCallType = (type: string): boolean => type === 'function_call' || type === 'custom_tool_call'

/** Items of one type, found by what names them, else in their order: never by looking through all of them. */
class Candidates {
  readonly #all = new Set<OutputItem>()
  readonly #nameless = new Set<OutputItem>()
  readonly #byCallId = new Map<string, OutputItem>()
  readonly #byId = new Map<string, OutputItem>()
  latest: OutputItem | undefined

  open(item: OutputItem): void {
    this.latest = item
    this.#all.add(item)
    this.note(item)
  }

  /** Takes in what was learned about an item. */
  note(item: OutputItem): void {
    if (item.callId === '' && this.#all.has(item)) this.#nameless.add(item)
    else this.#nameless.delete(item)
    if (item.callId !== '' && !this.#byCallId.has(item.callId)) this.#byCallId.set(item.callId, item)
    if (item.id !== '' && !this.#byId.has(item.id)) this.#byId.set(item.id, item)
  }

  /** Removes an item from the candidates, except under its own name. */
  settle(item: OutputItem): void {
    this.#all.delete(item)
    this.#nameless.delete(item)
  }

  remove(item: OutputItem): void {
    this.settle(item)
    if (this.#byCallId.get(item.callId) === item) this.#byCallId.delete(item.callId)
    if (this.#byId.get(item.id) === item) this.#byId.delete(item.id)
  }

  withId(id: string): OutputItem | undefined {
    return this.#byId.get(id)
  }

  /** Finds the item with these ids. */
  sameAs(item: JsonObject): OutputItem | undefined {
    const named =
      this.#byCallId.get(stringAt(item, 'call_id') ?? '') ?? this.#byId.get(stringAt(item, 'id') ?? '')
    return named?.isSameAs(item) ? named : undefined
  }

  /** The first that may be this one: a call with an id cannot be one that has another. A tool of the server may change its id. */
  first(item: JsonObject): OutputItem | undefined {
    const isNamed = isCallType(stringAt(item, 'type') ?? '') && stringAt(item, 'call_id')
    const [found] = isNamed ? this.#nameless : this.#all
    return found
  }
}

/**
 * The items of one answer. Their key is the output index together with the type: ids rotate on some servers, items
 * may never be announced, and servers that number everything 0 still keep text, reasoning and calls apart. Only
 * where one place holds several items of a type do ids decide.
 */
export class OutputItems {
  readonly #all: OutputItem[] = []
  /** The items at one place, by their type and their index. */
  readonly #places = new Map<string, Map<number, Candidates>>()
  readonly #ofType = new Map<string, Candidates>()
  #calls = 0

  /** The items in the order of the answer. */
  inOrder(): OutputItem[] {
    return this.#all.toSorted((a, b) => a.index - b.index)
  }

  /** The item a piece of content belongs to, created if it was not announced. */
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
    const known = place ? (place.sameAs(item) ?? place.first(item)) : this.#find(type, index, id)
    const isNew = !known || known.isOtherCallThan(item) || (known.done && !known.isSameAs(item))
    const finished = this.#identified(isNew ? this.#open(type, index, id) : known, item)
    this.#place(type, finished.index)?.settle(finished)
    return finished
  }

  /**
   * Pairs the items of a whole response with those already seen: by id, else in order within their type. Positions
   * in that list are not output indexes, and some servers renew all ids for it.
   */
  pair(items: readonly JsonObject[]): [OutputItem, JsonObject][] {
    const unpaired = new Map<string, Candidates>()
    for (const item of this.inOrder()) candidatesIn(unpaired, item.type).open(item)
    const pairs = new Map<JsonObject, OutputItem>()
    const pairBy = (find: (candidates: Candidates, item: JsonObject) => OutputItem | undefined): void => {
      for (const item of items) {
        const candidates = unpaired.get(stringAt(item, 'type') ?? '')
        const known = candidates && !pairs.has(item) ? find(candidates, item) : undefined
        if (!known) continue
        pairs.set(item, known)
        candidates?.remove(known)
      }
    }
    pairBy((candidates, item) => candidates.sameAs(item))
    pairBy((candidates, item) => candidates.first(item))
    return items.map((item, position) => {
      const type = stringAt(item, 'type') ?? ''
      const known = pairs.get(item) ?? this.#open(type, position, '')
      return [this.#identified(known, item), item]
    })
  }

  #place(type: string, index: number | undefined): Candidates | undefined {
    return index === undefined ? undefined : this.#places.get(type)?.get(index)
  }

  #find(type: string, index: number | undefined, id: string): OutputItem | undefined {
    const place = this.#place(type, index)
    if (place) return place.withId(id) ?? place.latest
    const ofType = this.#ofType.get(type)
    return ofType?.withId(id) ?? (index === undefined ? ofType?.latest : undefined)
  }

  #open(type: string, index: number | undefined, id: string): OutputItem {
    const item = new OutputItem(type, index ?? this.#all.length, this.#calls)
    if (item.isCall) this.#calls += 1
    item.id = id
    this.#all.push(item)
    for (const candidates of this.#holding(item)) candidates.open(item)
    return item
  }

  #identified(known: OutputItem, item: JsonObject): OutputItem {
    known.identify(item)
    for (const candidates of this.#holding(known)) candidates.note(known)
    return known
  }

  #holding(item: OutputItem): Candidates[] {
    const places = this.#places.get(item.type) ?? new Map<number, Candidates>()
    this.#places.set(item.type, places)
    return [candidatesIn(places, item.index), candidatesIn(this.#ofType, item.type)]
  }
}

const candidatesIn = <K>(map: Map<K, Candidates>, key: K): Candidates => {
  const candidates = map.get(key) ?? new Candidates()
  map.set(key, candidates)
  return candidates
}

const placeOf = (item: JsonObject, event: JsonObject) => ({
  type: stringAt(item, 'type') ?? '',
  index: numberAt(event, 'output_index'),
  id: stringAt(item, 'id') ?? '',
})
