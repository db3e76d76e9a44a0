import type { JsonObject } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { neverClosed, toolDelta, withheld } from './decoder.ts'

/** A piece of a tool call as some server chose to send it; every field may be missing, null or empty. */
export type ToolCallPiece = {
  index?: number | null | undefined
  id?: string | null | undefined
  name?: string | null | undefined
  /** A text to append, or an object that is the whole of the arguments. */
  arguments?: unknown
  /** True for a call of a tool that takes any text: the text itself is its one argument, `input`. */
  isText?: boolean
  /** True where another entry came before this one in the same event. */
  isSibling?: boolean
  /** The data that the provider wants back with this call, such as a signature. */
  extra?: JsonObject | undefined
}

/**
 * Puts tool calls together from their pieces, for every indexing habit of servers.
 *
 * Invariant: pieces of one call never reach another, and no call is read before `finish`. A piece belongs to the call
 * with its id, else to the one at its index, else to the latest; a new id, or a name after arguments that are already a
 * whole object, opens a new call.
 */
export class ToolCallAssembler {
  readonly #calls: OpenCall[] = []
  readonly #atIndex = new Map<number, OpenCall>()
  readonly #withId = new Map<string, OpenCall>()

  /** True while no call has begun. */
  get isEmpty(): boolean {
    return !this.#calls.some(isKept)
  }

  /** Takes the next piece, and gives the delta that shows it. */
  add(piece: ToolCallPiece): Delta {
    const index = typeof piece.index === 'number' && piece.index >= 0 ? piece.index : undefined
    const id = typeof piece.id === 'string' ? piece.id : ''
    const name = typeof piece.name === 'string' ? piece.name : ''
    // Most pieces are more arguments of the call at their index, and nothing else.
    const more = id === '' && name === '' && index !== undefined ? this.#atIndex.get(index) : undefined
    if (more && !piece.extra && !piece.isText)
      return toolDelta(more.order, more, more.append(piece.arguments))
    const call = this.#find(index, id, name, piece) ?? this.#open()
    if (index !== undefined) this.#atIndex.set(index, call)
    if (call.id === '') call.id = id
    if (id !== '') this.#withId.set(id, call)
    if (piece.extra) call.extra = piece.extra
    call.isText ||= piece.isText === true
    const text = call.repeats(id, name, piece.arguments) ? '' : call.append(piece.arguments)
    call.addName(name)
    return toolDelta(call.order, call, text)
  }

  /** The wire says that nothing more will be added to the call at this index, or to the latest. */
  close(index?: number): void {
    const call = index === undefined ? this.#calls.at(-1) : this.#atIndex.get(index)
    if (call) call.isClosed = true
  }

  /**
   * The calls in the order they were opened. Pieces that never got a name or any content are dropped. A call without a
   * single character of arguments is one that needs none, or one that was cut before them. `isCut`: the answer was cut, and
   * the last call perhaps with it: a text shows no end, so such a call is. `mustBeClosed`: the protocol closes each call, so that one it never closed is cut.
   */
  finish({ isCut = false, mustBeClosed = false } = {}): WireToolCall[] {
    const calls = this.#kept()
    const last = calls.at(-1)
    const isUnfinished = (call: OpenCall): boolean =>
      (!call.hasContent || call.isText) && ((isCut && call === last) || (mustBeClosed && !call.isClosed))
    return calls.map((call) => (isUnfinished(call) ? cutCall(call) : wireCall(call)))
  }

  /** The calls of a stream that failed: only those that are whole and parse. */
  finishWhole(): WireToolCall[] {
    return this.#kept()
      .filter((call) => call.name !== '' && call.hasContent && !call.isText)
      .map(wireCall)
      .filter((call) => call.argumentsError === undefined)
  }

  /** The `extra` of each call of `finish`, in the same order. */
  extras(): (JsonObject | null)[] {
    return this.#kept().map((call) => call.extra)
  }

  /** The places of the calls that took a text, in the order of `finish`. */
  textCalls(): number[] {
    return this.#kept().flatMap((call, at) => (call.isText ? [at] : []))
  }

  #find(index: number | undefined, id: string, name: string, piece: ToolCallPiece): OpenCall | undefined {
    const atIndex = index === undefined ? undefined : this.#atIndex.get(index)
    const sameId = id === '' ? undefined : atIndex?.id === id ? atIndex : this.#withId.get(id)
    if (sameId) {
      // The same id at a new index is another call, if it brings a name: some servers number every call alike.
      const isElsewhere = index !== undefined && atIndex === undefined && name !== ''
      return isElsewhere || sameId.isFollowedBy(id, name, piece.arguments) ? undefined : sameId
    }
    const candidate = index === undefined ? this.#calls.at(-1) : atIndex
    if (!candidate || candidate.isFollowedBy(id, name, piece.arguments)) return undefined
    if (id !== '') {
      // A late id joins the call that has none; a new id on a nameless piece of an open call is a server's whim.
      const isWhim = index !== undefined && name === '' && !candidate.isWhole
      return candidate.id === '' || isWhim ? candidate : undefined
    }
    // With neither id nor index, only the name distinguishes two calls without arguments.
    const isUnmarked = index === undefined && name !== ''
    return isUnmarked && (piece.isSibling || !candidate.mayBeNamed(name)) ? undefined : candidate
  }

  #open(): OpenCall {
    const call = new OpenCall(this.#calls.length)
    this.#calls.push(call)
    return call
  }

  #kept(): OpenCall[] {
    return this.#calls.filter(isKept)
  }
}

const isKept = (call: OpenCall): boolean => call.name !== '' || call.hasContent

const wireCall = (call: OpenCall): WireToolCall => ({
  id: call.id,
  name: call.name,
  ...(call.isText ? { arguments: { input: call.text } } : parseArguments(call.whole ?? call.text)),
})

/** DeepSeek, Mistral and Claude end right after the name when the tokens run out there. */
const cutCall = (call: OpenCall): WireToolCall =>
  withheld({ ...wireCall(call), argumentsRaw: call.text }, neverClosed)

const isContent = (args: unknown): boolean =>
  typeof args === 'string' ? args.trim() !== '' : args !== undefined && args !== null

/** A call while its pieces come in. */
class OpenCall {
  readonly order: number
  id = ''
  name = ''
  text = ''
  whole: unknown
  extra: JsonObject | null = null
  hasContent = false
  isText = false
  isClosed = false
  readonly #brackets = new Brackets()

  constructor(order: number) {
    this.order = order
  }

  /** The arguments are an object that was closed: nothing can be added to it. */
  get isWhole(): boolean {
    return !this.isText && (this.whole !== undefined || this.#brackets.areClosed)
  }

  append(args: unknown): string {
    if (args === undefined || args === null) return ''
    this.hasContent ||= isContent(args)
    if (typeof args !== 'string') {
      this.whole = args
      return JSON.stringify(args)
    }
    this.text += args
    this.#brackets.read(args)
    return args
  }

  /** Servers repeat the whole name, send it in pieces, or send it growing: its beginning shows which. */
  addName(piece: string): void {
    this.name = piece.startsWith(this.name) ? piece : this.name + piece
  }

  mayBeNamed(name: string): boolean {
    return name.startsWith(this.name)
  }

  /** True for the whole call once more, with which some servers end. */
  repeats(id: string, name: string, args: unknown): boolean {
    if (id === '' || id !== this.id || name !== this.name || !this.isWhole || !isContent(args)) return false
    return typeof args === 'string' ? args === this.text : JSON.stringify(args) === JSON.stringify(this.whole)
  }

  /** True for a piece that starts the next call; a name alone may be a repetition. */
  isFollowedBy(id: string, name: string, args: unknown): boolean {
    if (name === '' || this.name === '' || this.repeats(id, name, args)) return false
    if (this.isWhole) return name !== this.name || isContent(args)
    return this.hasContent && !this.mayBeNamed(name)
  }
}

/** Follows the brackets of a JSON text as it grows, so that no character is read twice. */
class Brackets {
  areClosed = false
  #depth = 0
  #inString = false
  #isEscaped = false

  read(piece: string): void {
    for (let at = 0; at < piece.length && !this.areClosed; at++) {
      const char = piece.charCodeAt(at)
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#inString) {
        if (char === backslash) this.#isEscaped = true
        else if (char === quote) this.#inString = false
      } else if (char === quote) this.#inString = true
      else if (char === openBrace) this.#depth++
      else if (char === closeBrace) this.areClosed = --this.#depth <= 0
    }
  }
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
