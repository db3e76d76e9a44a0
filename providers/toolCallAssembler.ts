import type { Delta, WireToolCall } from '../src/delta.ts'
import { parseArguments } from '../src/toolArguments.ts'

/** A piece of a tool call as some server chose to send it; every field may be missing, null or empty. */
export type ToolCallPiece = {
  index?: number | null | undefined
  id?: string | null | undefined
  name?: string | null | undefined
  /** A text to append, or an object that is the whole of the arguments. */
  arguments?: unknown
}

type OpenCall = { order: number; id: string; name: string; text: string; whole: unknown }

/**
 * Puts tool calls together from their pieces, whatever the server's indexing habit.
 *
 * Invariant: pieces of one call never reach another, and no call is read before `finish`. A piece belongs to the
 * call with its id, else to the one at its index, else to the latest; a new id, or a name after arguments that
 * are already a whole object, opens a new call.
 */
export class ToolCallAssembler {
  readonly #calls: OpenCall[] = []
  readonly #atIndex = new Map<number, OpenCall>()

  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  add(piece: ToolCallPiece): Delta {
    const index = typeof piece.index === 'number' && piece.index >= 0 ? piece.index : undefined
    const id = typeof piece.id === 'string' ? piece.id : ''
    const name = typeof piece.name === 'string' ? piece.name : ''
    const call = this.#find(index, id, name, piece.arguments) ?? this.#open()
    if (index !== undefined) this.#atIndex.set(index, call)
    if (call.id === '') call.id = id
    call.name = mergeName(call.name, name)
    const text = this.#append(call, piece.arguments)
    return {
      type: 'toolDelta',
      index: call.order,
      ...(call.id !== '' && { id: call.id }),
      ...(call.name !== '' && { name: call.name }),
      arguments: text,
    }
  }

  /** The calls in the order they were opened. Pieces that never got a name or any content are dropped. */
  finish(): WireToolCall[] {
    return this.#calls
      .filter((call) => call.name !== '' || call.text !== '' || call.whole !== undefined)
      .map((call) => ({ id: call.id, name: call.name, ...parseArguments(call.whole ?? call.text) }))
  }

  #find(index: number | undefined, id: string, name: string, args: unknown): OpenCall | undefined {
    const atIndex = index === undefined ? undefined : this.#atIndex.get(index)
    if (id !== '') {
      const sameId = this.#calls.find((call) => call.id === id)
      // The same id at another index is another call: some servers number every call alike.
      if (sameId && (index === undefined || atIndex === sameId)) {
        return isNextCall(sameId, name, args) ? undefined : sameId
      }
      const candidate = index === undefined ? this.#calls.at(-1) : atIndex
      // A late id joins the call that has none yet, unless the piece plainly starts another call.
      return candidate && candidate.id === '' && !isNextCall(candidate, name, args) ? candidate : undefined
    }
    const candidate = index === undefined ? this.#calls.at(-1) : atIndex
    return candidate && !isNextCall(candidate, name, args) ? candidate : undefined
  }

  #open(): OpenCall {
    const call: OpenCall = { order: this.#calls.length, id: '', name: '', text: '', whole: undefined }
    this.#calls.push(call)
    return call
  }

  #append(call: OpenCall, args: unknown): string {
    if (args === undefined || args === null) return ''
    if (typeof args !== 'string') {
      call.whole = args
      return JSON.stringify(args)
    }
    call.text += args
    return args
  }
}

/** A name after a whole set of arguments starts the next call; a name alone may be a repetition. */
const isNextCall = (call: OpenCall, name: string, args: unknown): boolean => {
  if (name === '' || call.name === '') return false
  const hasContent = typeof args === 'string' ? args.trim() !== '' : args !== undefined && args !== null
  return (name !== call.name || hasContent) && isWhole(call)
}

const isWhole = (call: OpenCall): boolean => {
  if (call.whole !== undefined) return true
  if (!call.text.trimEnd().endsWith('}')) return false
  return parseArguments(call.text).argumentsError === undefined
}

/** Servers repeat the whole name, send it in pieces, or send it growing: equality tells which. */
const mergeName = (known: string, piece: string): string => {
  if (piece === '' || piece === known) return known
  return piece.startsWith(known) ? piece : known + piece
}
