import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { StatewireError } from '../../src/messages/errors.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import { type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Approval, CallDecision } from '../../src/tools/approval.ts'
import { tool } from '../../src/tools/tool.ts'
import { type Dice, dice } from '../proof/dice.ts'
import { LeapClock } from '../proof/leapClock.ts'

/** Everything that has to happen has happened after so many turns of the event loop. */
const patience = 60

/**
 * What an episode of the random walk takes place in: an agent whose model says anything, and a record of what was decided
 * and what ran. A call that was not approved must not run, and none may run twice.
 */
export class World {
  readonly random: Dice
  readonly agent: Agent
  /** From now on the model only talks. */
  isCalm = false
  /** True if a person is there who ends what hangs. */
  mayHang = false
  hanging = 0
  /** Ends what was begun inside a loop. */
  inner = new AbortController()
  /** The moves so far, for the reader of a failure. */
  readonly story: string[] = []
  readonly #approved = new Set<string>()
  readonly #rejected = new Set<string>()
  readonly #ran: string[] = []
  /** Approvals that count for other calls, and runs that were restored while their tools ran, blur the record. */
  isBlurred = false
  /** Several people decided at once: which of them counted is not known. */
  isContested = false
  #calls = 0

  constructor(seed: number) {
    this.random = dice(seed)
    this.agent = new Agent(this.#model(), this.#options())
  }

  log(line: string): void {
    this.story.push(line)
  }

  /** What a promise comes to: it must not be left open, and what it rejects with is typed. `stop` ends what hangs. */
  async settled<T>(promise: Promise<T>, stop: () => void = () => {}): Promise<T | undefined> {
    let outcome: { value: T } | { error: unknown } | undefined
    promise.then(
      (value) => {
        outcome = { value }
      },
      (error) => {
        outcome = { error }
      },
    )
    const wait = async () => {
      for (let round = 0; round < patience && !outcome; round += 1) await new Promise(setImmediate)
    }
    await wait()
    if (!outcome && this.hanging > 0) {
      stop()
      await wait()
    }
    if (!outcome) throw new Error('a promise is left open')
    if ('value' in outcome) return outcome.value
    if (!(outcome.error instanceof StatewireError))
      throw new Error('an error is not typed', { cause: outcome.error })
    this.log(`  ${outcome.error.name}: ${outcome.error.message}`)
    return undefined
  }

  /** Decisions on some of the calls, perhaps with one about another call. */
  decisions(calls: readonly PendingCall[], chance = 0.8): Record<string, CallDecision> {
    const chosen = calls.filter(() => this.random.chance(chance))
    const decided = Object.fromEntries(chosen.map((call) => [call.id, this.decision(call)]))
    return this.random.chance(0.1) ? { ...decided, unknown: true } : decided
  }

  decision({ id, kind }: PendingCall): CallDecision {
    const isYes = this.random.chance(0.7)
    if (kind === 'answer' && isYes)
      return { result: this.random.pick(['here', { a: 1 }, null]), isError: this.random.chance(0.2) }
    return isYes && kind === 'approval' ? this.#approval(id) : this.#rejection(id)
  }

  #approval(id: string): Approval {
    this.#approved.add(id)
    const remember = this.random.chance(0.1) ? this.random.pick(['tool', 'arguments'] as const) : undefined
    if (remember) this.isBlurred = true
    if (remember) return { approve: true, remember }
    return this.random.pick<Approval>([true, { approve: true, arguments: { edited: true } }])
  }

  #rejection(id: string): Approval {
    this.#rejected.add(id)
    return this.random.pick<Approval>([false, { approve: false, reason: 'no' }])
  }

  /** A decision that did not take effect does not count. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#rejected.delete(id)
  }

  check(): void {
    const wrong = this.#ran.find((id) => id.startsWith('ask') && !this.isBlurred && !this.#approved.has(id))
    if (wrong !== undefined) throw new Error(`${wrong} ran without an approval`)
    const isRefused = (id: string) => this.#rejected.has(id) && !this.#approved.has(id)
    const refused = this.isContested ? undefined : this.#ran.find(isRefused)
    if (refused !== undefined) throw new Error(`${refused} ran, and was rejected`)
    const twice = this.#ran.find((id, index) => !this.isBlurred && this.#ran.indexOf(id) !== index)
    if (twice !== undefined) throw new Error(`${twice} ran twice`)
  }

  #options(): AgentOptions {
    const { random } = this
    const orchestrator = random.chance(0.25)
      ? random.pick([reasoningOrchestrator, reflectionOrchestrator])()
      : undefined
    return {
      tools: this.#tools(),
      clock: new LeapClock(),
      maxSteps: random.pick([1, 2, 3, 6]),
      toolExecution: random.pick(['sequential', 'parallel', { concurrency: 2 }] as const),
      retry: { maxRetries: random.below(2), initialDelayMs: 10, midStream: random.chance(0.3) },
      ...(orchestrator && { orchestrator }),
      ...(random.chance(0.15) && { onApproval: (call) => this.#onApproval(call.id) }),
    }
  }

  #onApproval(id: string): Approval | Promise<Approval> {
    const said = this.random.chance(0.7) ? this.#approval(id) : this.#rejection(id)
    return this.random.chance(0.5) ? said : Promise.resolve(said)
  }

  #tools() {
    const input = { jsonSchema: { type: 'object' } }
    const make = (name: string, execute: (signal: AbortSignal) => unknown, rest = {}) =>
      tool({
        name,
        description: name,
        input,
        execute: (_, { callId, signal }) => {
          this.#ran.push(callId)
          return execute(signal)
        },
        ...rest,
      })
    return [
      make('ask', () => 'asked', { needsApproval: true }),
      make('free', () => 'free'),
      make('boom', () => Promise.reject(new Error('boom'))),
      make('ends', () => 'over', { endsRun: true }),
      make('slow', (signal) => this.#hang(signal)),
      tool({ name: 'outside', description: 'outside', input }),
      tool({ name: 'askOutside', description: 'askOutside', input, needsApproval: true }),
    ]
  }

  #hang(signal: AbortSignal): unknown {
    if (!this.mayHang) return 'not now'
    this.hanging += 1
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        this.hanging -= 1
        resolve('late')
      })
    })
  }

  #model(): ChatModel {
    const { random } = this
    const nativeSchema = random.chance(0.5)
    const profile = { ...scriptedModel([]).profile, nativeSchema, schemaWithTools: random.chance(0.5) }
    return {
      provider: 'random',
      model: 'random',
      profile,
      stream: (request, sink) => {
        const steps = this.#turn(request)
        const close = scriptedModel([steps]).stream(request, sink as ModelSink)
        const isHanging = steps.some((step) => 'hang' in step)
        if (isHanging) this.hanging += 1
        return () => {
          if (isHanging) this.hanging -= 1
          close()
        }
      },
    }
  }

  #turn(request: ModelRequest): readonly ScriptStep[] {
    const { random } = this
    const returns = request.tools?.some(({ name }) => name === 'return_result') ?? false
    const answer: ScriptStep = returns
      ? { toolCall: { name: 'return_result', arguments: { n: 1 } } }
      : { text: request.outputSchema ? '{"n":1}' : 'calm' }
    if (this.isCalm) return [answer]
    const words: ScriptStep[] = random.chance(0.5) ? [{ text: 'Well' }, { text: ', ' }] : []
    const kind = random.below(20)
    if (kind < 8) return [...(returns || request.outputSchema ? [] : words), answer]
    if (kind < 14 && request.tools) return [...words, ...this.#someCalls()]
    if (kind === 14) return [...words, { error: { message: 'broken', retryable: random.chance(0.5) } }]
    if (kind === 15) return [...words, { cut: true }]
    if (kind === 16) return []
    if (kind === 17) return [...words, { finish: 'length' }]
    if (kind === 18 && this.mayHang) return [...words, { hang: true }]
    return [{ thinking: 'Hm.' }, { text: 'not JSON' }, { usage: { inputTokens: 1 } }]
  }

  #someCalls(): ScriptStep[] {
    const { random } = this
    const names = [
      'ask',
      'ask',
      'ask',
      'free',
      'free',
      'boom',
      'ends',
      'slow',
      'outside',
      'askOutside',
      'nothing',
    ]
    return Array.from({ length: 1 + random.below(3) }, () => {
      const name = random.pick(names)
      this.#calls += 1
      return { toolCall: { id: `${name}${this.#calls}`, name, arguments: { n: random.below(2) } } }
    })
  }
}
