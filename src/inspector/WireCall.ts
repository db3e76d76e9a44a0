import type { ChatModel, ModelRequest, SentRequest, WireListener } from '../model/chatModel.ts'
import type { Attempt } from './Attempt.ts'
import { Exchange, type RawEvent } from './Exchange.ts'
import type { WireLog } from './WireLog.ts'

/** What is known when a model is asked. */
export type Asking = {
  /** The id of the agent that asks. */
  owner: number
  step: number
  /** For a compaction; it is not an attempt at a step. */
  isSummary: boolean
  /** Not yet known where a run goes on that was stored while it asked. */
  attempt: Attempt | undefined
  model: Pick<ChatModel, 'provider' | 'model' | 'protocol'>
  /** The time of the run. */
  now: () => number
  /** Takes credentials that are to be hidden everywhere. */
  learn: (secrets: readonly string[]) => void
}

/** One call of a model, and every HTTP request that it took. */
export class WireCall implements WireListener {
  readonly id: number
  readonly asking: Asking
  readonly at: number
  /** What was asked for, apart from the messages. */
  readonly settings: Omit<ModelRequest, 'messages'>
  readonly system: ModelRequest['messages']
  /** Only of a model without a wire: otherwise they are in the body. */
  messages: ModelRequest['messages'] | null
  readonly exchanges: Exchange[] = []
  endedAt: number | null = null
  failure = ''
  isDropped = false
  readonly #log: WireLog

  constructor(id: number, asking: Asking, { messages, ...settings }: ModelRequest, log: WireLog) {
    this.id = id
    this.asking = asking
    this.at = asking.now()
    this.settings = settings
    this.system = messages.filter(({ role }) => role === 'system')
    this.messages = messages
    this.#log = log
  }

  request(sent: SentRequest): void {
    this.asking.learn(sent.secrets())
    const exchange = new Exchange(sent, this.asking.now())
    this.exchanges.push(exchange)
    this.messages = null
    this.#log.grow(exchange.kept)
  }

  head({ status, headers }: Parameters<WireListener['head']>[0]): void {
    const exchange = this.exchanges.at(-1)
    if (!exchange) return
    exchange.headAt = this.asking.now()
    exchange.status = status
    exchange.headers = headers
  }

  event(event: RawEvent): void {
    const grown = this.exchanges[this.exchanges.length - 1]?.add(event)
    if (grown) this.#log.grow(grown)
  }

  end(failure = ''): void {
    this.endedAt ??= this.asking.now()
    this.failure ||= failure
  }

  get kept(): number {
    return this.exchanges.reduce((sum, { kept }) => sum + kept, 0)
  }

  /** There is no room for it any more: only how it went stays. */
  drop(): void {
    this.isDropped = true
    this.messages = null
    for (const exchange of this.exchanges) exchange.drop()
  }
}
