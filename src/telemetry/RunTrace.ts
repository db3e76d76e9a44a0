import type { Attributes } from '@opentelemetry/api'
import type { AnyActor } from 'xstate'
import type { AgentSnapshot, AgentStateValue } from '../../machines/agent/agentSnapshot.ts'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import type { TracedTurn } from '../../machines/logic/runEnvironment.ts'
import { timeIn } from '../../machines/logic/systemTime.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import type { AgentTrace } from './AgentTrace.ts'
import { ChatTrace } from './ChatTrace.ts'
import { own } from './conventions.ts'
import type { Operation } from './Operation.ts'

/** One run of the lifecycle chart, alone or as a phase of a run: what its states and data say becomes spans and events. */
export class RunTrace {
  readonly agent: AgentTrace
  /** The phase of the whole that it is, if it is one. */
  readonly attributes: Attributes
  readonly #actor: AnyActor
  readonly #isPhase: boolean
  #chat: ChatTrace | undefined
  #summary: ChatTrace | undefined
  #wait: Operation | undefined

  constructor(agent: AgentTrace, actor: AnyActor, phase: string | undefined) {
    this.agent = agent
    this.attributes = phase === undefined ? {} : { [own.phase]: phase }
    this.#isPhase = phase !== undefined
    this.#actor = actor
  }

  /** A request is about to be sent: the operation that it belongs to. */
  ask(turn: TracedTurn): Operation {
    this.agent.keepSecret(turn.hide)
    this.agent.ask(turn.model)
    if (turn.agent !== undefined && !this.#isPhase) this.agent.rename(turn.agent)
    const { value, context }: AgentSnapshot = this.#actor.getSnapshot()
    if (isCompacting(value)) return this.#askForSummary(turn, context)
    if (!this.#chat?.isFor(turn, context)) {
      this.#chat?.fallBack(turn)
      this.#chat = new ChatTrace(this.agent, turn, context, this.attributes)
    }
    return this.#chat.operation
  }

  /** Each request for a summary has its own span. */
  #askForSummary(turn: TracedTurn, context: StreamingState): Operation {
    this.#chat?.fail(context.failure)
    this.#chat = undefined
    this.#summary?.fail(context.failure)
    this.#summary = new ChatTrace(this.agent, turn, context, { ...this.attributes, [own.summary]: true })
    return this.#summary.operation
  }

  /** The chart has made a step; the same step may be reported more than once. */
  follow(snapshot: AgentSnapshot): void {
    if (!isCompacting(snapshot.value)) {
      this.#summary?.fail(snapshot.value === 'Failed' ? snapshot.context.failure : null)
      this.#summary = undefined
    }
    this.#followChat(snapshot)
    this.#followWait(snapshot)
  }

  #followChat({ value, context }: AgentSnapshot): void {
    const chat = this.#chat
    if (!chat) return
    const { failure, request } = context
    const answering = typeof value === 'object' && 'Accumulating' in value ? value.Accumulating : undefined
    if (answering === 'Interrupted') chat.interrupt(failure)
    else if (answering === 'BackingOff') chat.retry(request, request.retryAt - timeIn(this.#actor.system))
    if (answering !== undefined) return
    this.#chat = undefined
    if (value === 'Consolidating') chat.complete(context)
    else chat.fail(value === 'Failed' || isCompacting(value) ? failure : null)
  }

  #followWait(snapshot: AgentSnapshot): void {
    const kind = waits.get(snapshot.value)
    if (kind === undefined) {
      this.#wait?.end()
      this.#wait = undefined
      return
    }
    this.#wait ??= this.agent.begin({
      of: kind,
      attributes: {
        ...this.attributes,
        [own.waitsFor]: kind,
        [own.waitingTools]: [...new Set(pendingIn(snapshot).map(({ name }) => name))],
      },
    })
  }
}

const isCompacting = (value: AgentStateValue): boolean => typeof value === 'object' && 'Compacting' in value

/** States in which the run itself waits for people. Where a sub-agent does, that is its own wait. */
const waits = new Map<AgentStateValue, string>([
  ['AwaitingApproval', 'approval'],
  ['AwaitingTools', 'answer'],
  ['AtLimit', 'limit'],
])
