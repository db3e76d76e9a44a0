import type { ErrorData } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import {
  checkOptions,
  checkValue,
  listOf,
  object,
  orWrite,
  type Rule,
  type Rules,
  text,
} from '../messages/optionRules.ts'
import type { FinishReason, Usage } from '../messages/result.ts'
import type { ChatModel, ModelProfile, ModelRequest, ModelSink } from '../model/chatModel.ts'
import { type Clock, systemClock } from '../model/clock.ts'
import type { Delta } from '../model/delta.ts'
import { parseArguments } from '../model/toolArguments.ts'

/** A network read of a scripted answer, or something that happens between two reads. */
export type ScriptStep =
  | { text: string }
  | { thinking: string }
  /** `arguments` as a text is parsed as a provider's would be, broken JSON included. */
  | { toolCall: { id?: string; name: string; arguments?: JsonObject | string | null } }
  | { metadata: JsonObject }
  | { usage: Usage }
  | { responseId: string }
  | { finish: FinishReason; raw?: string; pause?: boolean }
  /** Any deltas at all, as one read. */
  | { deltas: readonly Delta[] }
  | { delayMs: number }
  /** The provider fails; without `retryable` it is final. */
  | { error: Partial<ErrorData> }
  /** The connection ends without the end of the answer. */
  | { cut: true }
  /** The connection stays open, and nothing more comes. */
  | { hang: true }

/** The answer to one call: its steps, or just the text of a plain answer. */
export type ScriptTurn = string | readonly ScriptStep[]

/** A chat model that plays a script, and remembers what it was asked. */
export type ScriptedModel = ChatModel & {
  /** Every request that was made, in order. */
  readonly requests: readonly ModelRequest[]
  /** The number of requests that were closed before their end. */
  readonly closed: number
  /** Throws when turns are left, or when the model was called more often than it has turns. */
  assertDone(): void
}

/** Options of {@link scriptedModel}. */
export type ScriptOptions = {
  /** The clock of its pauses. Default: real time. */
  clock?: Clock
  /** The abilities of the model. Default: all of them. */
  profile?: Partial<ModelProfile>
  /** The name of its provider. Default: `scripted`. */
  provider?: string
  /** The name of the model. Default: `script`. */
  model?: string
}

const rules: Rules<ScriptOptions> = { clock: object, profile: object, provider: text, model: text }

/** The kinds of steps, as `ScriptStep` has them. */
const stepKinds = [
  ...['text', 'thinking', 'toolCall', 'metadata', 'usage', 'responseId', 'finish'],
  ...['deltas', 'delayMs', 'error', 'cut', 'hang'],
]

const stepRule: Rule = (name, value) =>
  stepKinds.some((kind) => kind in Object(value))
    ? undefined
    : `${name} is not a step of a turn: write { text } or { toolCall: { name, arguments } }. The kinds are ${stepKinds.join(', ')}.`

const turnRule: Rule = (name, value) =>
  typeof value === 'string'
    ? undefined
    : orWrite(listOf(stepRule), (given) =>
        Array.isArray(given) ? undefined : "a string, or a list of steps: [[{ text: 'Hi' }]]",
      )(name, value)

const turnsRule = orWrite(listOf(turnRule), (value) =>
  Array.isArray(value) ? undefined : "scriptedModel(['first answer', 'second answer'])",
)

const everything: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
}

/**
 * A model that plays turns from a list, one per call: for tests of agents, without a network.
 *
 * @example
 * const model = scriptedModel([
 *   [{ toolCall: { name: 'get_weather', arguments: { city: 'Oslo' } } }],
 *   'It is 21 °C in Oslo.',
 * ])
 */
export const scriptedModel = (turns: readonly ScriptTurn[], options: ScriptOptions = {}): ScriptedModel => {
  checkValue('The turns of scriptedModel', turns, turnsRule)
  checkOptions('The options of scriptedModel', options, rules)
  const clock = options.clock ?? systemClock
  const requests: ModelRequest[] = []
  let closed = 0
  return {
    provider: options.provider ?? 'scripted',
    model: options.model ?? 'script',
    profile: { ...everything, ...options.profile },
    requests,
    get closed() {
      return closed
    },
    assertDone() {
      if (requests.length !== turns.length) {
        throw new Error(
          `The script has ${turns.length} turns, but the model was called ${requests.length} times.`,
        )
      }
    },
    stream(request, sink) {
      const turn = turns[requests.length]
      requests.push(structuredClone(request))
      const play = new Play(turn === undefined ? unexpected(requests.length) : stepsOf(turn), sink, clock)
      play.begin()
      return () => {
        if (play.stop()) closed += 1
      }
    },
  }
}

const unexpected = (call: number): ScriptStep[] => [
  {
    error: {
      name: 'OrchestrationError',
      message: `Call ${call} of the model is not in the script: give it another turn.`,
    },
  },
]

const stepsOf = (turn: ScriptTurn): readonly ScriptStep[] =>
  typeof turn === 'string' ? [{ text: turn }] : turn

/** Plays one turn, each step in its own task, like reads from a socket. */
class Play {
  readonly #steps: readonly ScriptStep[]
  readonly #sink: ModelSink
  readonly #clock: Clock
  #isOver = false
  #called = false

  constructor(steps: readonly ScriptStep[], sink: ModelSink, clock: Clock) {
    this.#steps = steps
    this.#sink = sink
    this.#clock = clock
  }

  begin(): void {
    queueMicrotask(() => this.#play(0))
  }

  /** Stops the turn. Returns true if it was not over. */
  stop(): boolean {
    const wasOpen = !this.#isOver
    this.#isOver = true
    return wasOpen
  }

  #play(index: number): void {
    if (this.#isOver) return
    const step = this.#steps[index]
    const next = () => queueMicrotask(() => this.#play(index + 1))
    if (step === undefined) {
      this.#end({
        type: 'finish',
        reason: this.#called ? 'toolCalls' : 'stop',
        raw: this.#called ? 'tool_calls' : 'stop',
      })
    } else if ('delayMs' in step) this.#clock.setTimeout(next, step.delayMs)
    else if ('error' in step) {
      this.#isOver = true
      this.#sink.fail({ name: 'ModelError', message: 'The script says so.', ...step.error })
    } else if ('cut' in step) this.#end()
    else if ('finish' in step) {
      const { finish: reason, ...rest } = step
      this.#end({ type: 'finish', reason, ...rest })
    } else if (!('hang' in step)) {
      if ('toolCall' in step) this.#called = true
      this.#sink.deltas(deltasOf(step))
      next()
    }
  }

  #end(finish?: Delta): void {
    if (finish) this.#sink.deltas([finish])
    this.#isOver = true
    this.#sink.end()
  }
}

type ReadStep = Exclude<
  ScriptStep,
  { delayMs: number } | { error: object } | { cut: true } | { hang: true } | { finish: FinishReason }
>

const deltasOf = (step: ReadStep): readonly Delta[] => {
  if ('text' in step) return [{ type: 'text', text: step.text }]
  if ('thinking' in step) return [{ type: 'thinking', text: step.thinking }]
  if ('metadata' in step) return [{ type: 'metadata', metadata: step.metadata }]
  if ('usage' in step) return [{ type: 'usage', usage: step.usage }]
  if ('responseId' in step) return [{ type: 'response', id: step.responseId }]
  if ('deltas' in step) return step.deltas
  const { id = '', name, arguments: args } = step.toolCall
  return [{ type: 'toolCall', call: { id, name, ...parseArguments(args) } }]
}
