import type { ModelRequest } from '../model/chatModel.ts'
import { type Asking, WireCall } from './WireCall.ts'

/** What is kept of the wire of one run, in characters. */
export const mostWire = 8 * 1024 * 1024
/** Calls of models that one run remembers. */
const mostCalls = 500

/** The calls of models of one run. The oldest give room to the newest. */
export class WireLog {
  calls: WireCall[] = []
  /** Calls that are not remembered at all. */
  forgotten = 0
  #size = 0
  #lastId = 0

  begin(asking: Asking, request: ModelRequest): WireCall {
    this.#lastId += 1
    const call = new WireCall(this.#lastId, asking, request, this)
    this.calls.push(call)
    if (this.calls.length >= 2 * mostCalls) this.#forget()
    return call
  }

  /** More is kept now. Called for every event of an answer. */
  grow(size: number): void {
    this.#size += size
    if (this.#size > mostWire) this.#drop()
  }

  /** Down to less than there may be, so that this is rare. The newest call stays. */
  #drop(): void {
    const sizes = this.calls.map(({ kept }) => kept)
    let size = sizes.reduce((sum, kept) => sum + kept, 0)
    for (const [index, call] of this.calls.slice(0, -1).entries()) {
      if (size <= 0.75 * mostWire) break
      size -= sizes[index] ?? 0
      call.drop()
    }
    this.#size = size
  }

  #forget(): void {
    this.forgotten += this.calls.length - mostCalls
    this.calls = this.calls.slice(-mostCalls)
    this.#size = this.calls.reduce((sum, { kept }) => sum + kept, 0)
  }
}
