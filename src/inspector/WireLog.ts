import type { ChatModel, ModelRequest, SentRequest, WireListener } from '../model/chatModel.ts'
import type { Attempt } from './Attempt.ts'

/** Characters of requests and answers that are kept of one run. */
const mostWire = 8 * 1024 * 1024
/** Calls of models that one run remembers. */
const mostCalls = 500

/** The calls of models of one run. The oldest make room for the newest. */
export class WireLog {
  calls: WireCall[] = []
  /** Calls that are not remembered at all. */
  forgotten = 0
  #size = 0
  #lastId = 0

  begin(context: CallContext, request: ModelRequest): WireCall {
    this.#lastId += 1
    const call = new WireCall(this.#lastId, context, request, (size) => this.#grow(size))
    this.calls.push(call)
    if (this.calls.length >= 2 * mostCalls) this.#forget()
    return call
  }

  /** Counts what is kept. Called for every event of an answer. */
  #grow(size: number): void {
    this.#size += size
    if (this.#size > mostWire) this.#drop()
  }

  /** Drops the contents of the oldest calls, more than it must, so that this is rare. The newest call stays. */
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

/** The facts that are known when a model is asked. */
type CallContext = {
  /** The id of the agent that asks. */
  owner: number
  step: number
  /** True for the summary of a compaction, which is not an attempt at a step. */
  isSummary: boolean
  /** Undefined for a run that was stored while it asked and was continued: its attempt is not known yet. */
  attempt: Attempt | undefined
  model: Pick<ChatModel, 'provider' | 'model' | 'protocol'>
  /** The time of the run. */
  now: () => number
  /** Takes credentials that are to be hidden everywhere. */
  learn: (secrets: readonly string[]) => void
}

/** A call of a model, and every HTTP request that it took. */
export class WireCall implements WireListener {
  readonly id: number
  readonly context: CallContext
  readonly at: number
  /** The request without its messages. */
  readonly settings: Omit<ModelRequest, 'messages'>
  readonly system: ModelRequest['messages']
  /** The messages for a model that is not reached over HTTP; for any other they are in the body. */
  messages: ModelRequest['messages'] | null
  readonly exchanges: Exchange[] = []
  endedAt: number | null = null
  failure = ''
  isDropped = false
  readonly #grow: (size: number) => void

  constructor(
    id: number,
    context: CallContext,
    { messages, ...settings }: ModelRequest,
    grow: (size: number) => void,
  ) {
    this.id = id
    this.context = context
    this.at = context.now()
    this.settings = settings
    this.system = messages.filter(({ role }) => role === 'system')
    this.messages = messages
    this.#grow = grow
  }

  request(sent: SentRequest): void {
    this.context.learn(sent.secrets())
    const exchange = new Exchange(sent, this.context.now())
    this.exchanges.push(exchange)
    this.messages = null
    this.#grow(exchange.kept)
  }

  head({ status, headers }: Parameters<WireListener['head']>[0]): void {
    const exchange = this.exchanges.at(-1)
    if (!exchange) return
    exchange.headAt = this.context.now()
    exchange.status = status
    exchange.headers = headers
  }

  event(event: RawEvent): void {
    const grown = this.exchanges[this.exchanges.length - 1]?.add(event)
    if (grown) this.#grow(grown)
  }

  end(failure = ''): void {
    this.endedAt ??= this.context.now()
    this.failure ||= failure
  }

  get kept(): number {
    return this.exchanges.reduce((sum, { kept }) => sum + kept, 0)
  }

  /** Drops the contents to make room. The facts stay. */
  drop(): void {
    this.isDropped = true
    this.messages = null
    for (const exchange of this.exchanges) exchange.drop()
  }
}

type RawEvent = Parameters<WireListener['event']>[0]

const longestBody = 512 * 1024
const longestEvent = 64 * 1024
/** Characters of the events of an answer that are kept: its beginning, and one to two pieces of its end. */
const longestHead = 192 * 1024
const longestPiece = 32 * 1024

/** An HTTP request and its answer, as far as they are kept. An event costs one reference: it is read when a page asks. */
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

  /** Adds an event, and returns how many more characters are kept. */
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

  /** The number of characters that are kept; the end of a long answer is counted as if it were always full. */
  get kept(): number {
    const tail = this.#newest.length > 0 ? 2 * longestPiece : 0
    return (this.body ? lengthOf(this.body) : 0) + this.#headSize + tail
  }

  /** The events at the beginning, those at the end, and how many are missing in between. */
  get events(): { head: readonly RawEvent[]; tail: readonly RawEvent[]; missing: number } {
    return { head: this.#head, tail: [...this.#older, ...this.#newest], missing: this.#missing }
  }

  /** Drops the contents to make room. The facts stay. */
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

/** A text that may be long: whole, or its beginning and its end. */
type KeptText = { head: string; tail: string; missing: number }

/** Credentials are shorter than this. */
const longestWord = 4_096

/** Leaves out the middle of a text that is too long. It makes copies, because a slice would keep the whole alive. */
const keptText = (text: string, most: number): KeptText => {
  if (text.length <= most) return { head: text, tail: '', missing: 0 }
  const head = withoutLastWord(text.slice(0, Math.floor(most * 0.75)))
  const tail = withoutFirstWord(text.slice(text.length - Math.floor(most * 0.25)))
  return { head: copyOf(head), tail: copyOf(tail), missing: text.length - head.length - tail.length }
}

const lengthOf = ({ head, tail }: KeptText): number => head.length + tail.length

// Half a credential would not be recognised as one, so nothing is cut in the middle of a word.
const withoutLastWord = (text: string): string => {
  const end = /[\s",][^\s",]*$/.exec(text.slice(-longestWord))
  return end ? text.slice(0, text.length - end[0].length + 1) : text.slice(0, -longestWord)
}

const withoutFirstWord = (text: string): string => {
  const start = text.slice(0, longestWord).search(/[\s",]/)
  return text.slice(start === -1 ? longestWord : start)
}

const copyOf = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')
