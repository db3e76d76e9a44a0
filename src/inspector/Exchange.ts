import type { SentRequest, WireListener } from '../model/chatModel.ts'
import { type KeptText, keptText, lengthOf } from './keptText.ts'

export type RawEvent = Parameters<WireListener['event']>[0]

const longestBody = 512 * 1024
const longestEvent = 64 * 1024
/** What is kept of the events of one answer: its beginning, and between one and two of these of its end. */
const longestHead = 192 * 1024
const longestPiece = 32 * 1024

/**
 * One HTTP request and its answer, as far as they are kept. An event costs a push of a reference: it is looked at when a
 * page asks for it.
 */
export class Exchange {
  readonly at: number
  readonly sent: Omit<SentRequest, 'body'>
  body: KeptText | null
  headAt: number | null = null
  status: number | null = null
  headers: Readonly<Record<string, string>> = {}
  /** All events and their characters, kept or not. */
  count = 0
  size = 0
  #head: RawEvent[] = []
  #headSize = 0
  #older: RawEvent[] = []
  #newest: RawEvent[] = []
  #newestSize = 0
  #missing = 0

  constructor({ body, ...sent }: SentRequest, at: number) {
    this.at = at
    this.sent = sent
    this.body = keptText(body, longestBody)
  }

  /** Gives how much more is kept. */
  add(event: RawEvent): number {
    const { length } = event.data
    this.count += 1
    this.size += length
    const kept = length > longestEvent ? cut(event) : event
    if (this.#newest.length === 0 && this.#headSize + kept.data.length <= longestHead) {
      this.#head.push(kept)
      this.#headSize += kept.data.length
      return kept.data.length
    }
    if (this.#newestSize > longestPiece) this.#turnOver()
    this.#newest.push(kept)
    this.#newestSize += kept.data.length
    return 0
  }

  /** What is kept, in characters; the end of a long answer is counted as if it were always full. */
  get kept(): number {
    const tail = this.#newest.length > 0 ? 2 * longestPiece : 0
    return (this.body ? lengthOf(this.body) : 0) + this.#headSize + tail
  }

  /** The events at the beginning, those at the end, and how many are missing in between. */
  get events(): { head: readonly RawEvent[]; tail: readonly RawEvent[]; missing: number } {
    return { head: this.#head, tail: [...this.#older, ...this.#newest], missing: this.#missing }
  }

  /** There is no room for it any more: only how it went stays. */
  drop(): void {
    this.body = null
    this.#head = []
    this.#headSize = 0
    this.#older = []
    this.#newest = []
    this.#newestSize = 0
    this.#missing = this.count
  }

  #turnOver(): void {
    this.#missing += this.#older.length
    this.#older = this.#newest
    this.#newest = []
    this.#newestSize = 0
  }
}

const cut = ({ event, data }: RawEvent): RawEvent => {
  const { head, tail, missing } = keptText(data, longestEvent)
  return { event, data: `${head}⟨${missing} characters are not kept⟩${tail}` }
}
