import type { Attributes } from '@opentelemetry/api'
import type { AnyActor } from 'xstate'
import type { AgentSnapshot } from '../../machines/agent/agentSnapshot.ts'
import { factsOf } from '../../machines/agent/states.ts'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import type { TracedTurn } from '../../machines/logic/runEnvironment.ts'
import { timeOf } from '../../machines/logic/systemTime.ts'
import type { Verdicts } from '../../machines/policy/openQuestions.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import type { ErrorData } from '../messages/errors.ts'
import type { ModelRequest } from '../model/chatModel.ts'
import type { AgentTrace } from './AgentTrace.ts'
import { messagesContent, systemContent, toolsContent } from './content.ts'
import {
  attribute,
  content,
  costName,
  finishReasons,
  own,
  providerName,
  settingNames,
  shortId,
  usageNames,
} from './conventions.ts'
import type { Operation } from './Operation.ts'

/** A run of the lifecycle chart, alone or as a phase of another run: its steps become spans and events. */
export class RunTrace {
  readonly agent: AgentTrace
  /** Name the phase, if the run is one. */
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

  /** Gives the operation that a request belongs to, which is about to be sent. */
  ask(turn: TracedTurn): Operation {
    this.agent.keepSecret(turn.hide)
    this.agent.ask(turn.model)
    if (turn.agent !== undefined && !this.#isPhase) this.agent.rename(turn.agent)
    const snapshot: AgentSnapshot = this.#actor.getSnapshot()
    const { context } = snapshot
    if (snapshot.matches('Compacting')) return this.#askForSummary(turn, context)
    if (!this.#chat?.isFor(turn, context)) {
      this.#chat?.fallBack(turn)
      this.#chat = new ChatTrace(this.agent, turn, context, this.attributes)
    }
    return this.#chat.operation
  }

  /** Takes the model that answers a request: its provider may have chosen a version, or another model. */
  answeredBy(model: string): void {
    const chat = this.#summary ?? this.#chat
    chat?.operation.describeMeasured({ [attribute.responseModel]: shortId(model) })
  }

  /** Begins a span for each request, even for a repeated one. */
  #askForSummary(turn: TracedTurn, context: StreamingState): Operation {
    this.#chat?.fail(context.failure)
    this.#chat = undefined
    this.#summary?.fail(context.failure)
    this.#summary = new ChatTrace(this.agent, turn, context, { ...this.attributes, [own.summary]: true })
    return this.#summary.operation
  }

  /** Takes a step of the chart. The same step may be reported more than once. */
  follow(snapshot: AgentSnapshot): void {
    if (!snapshot.matches('Compacting')) {
      this.#summary?.fail(snapshot.matches('Failed') ? snapshot.context.failure : null)
      this.#summary = undefined
    }
    this.#followChat(snapshot)
    this.#followWait(snapshot)
  }

  /** Takes the verdicts of the policy: each is an event of the run. */
  judge(verdicts: Verdicts): void {
    for (const [item, { verdict, state }] of Object.entries(verdicts))
      this.agent.operation.event('statewire.policy', {
        ...this.attributes,
        [own.judged]: item,
        [own.verdict]: verdict,
        [own.policyState]: state,
      })
  }

  #followChat(snapshot: AgentSnapshot): void {
    const chat = this.#chat
    if (!chat) return
    const { context } = snapshot
    const { failure, request } = context
    if (snapshot.matches({ Accumulating: 'Interrupted' })) chat.interrupt(failure)
    else if (snapshot.matches({ Accumulating: 'BackingOff' }))
      chat.retry(request, request.retryAt - timeOf(this.#actor))
    if (snapshot.matches('Accumulating')) return
    this.#chat = undefined
    if (snapshot.matches('Consolidating')) chat.complete(context)
    else chat.fail(snapshot.matches('Failed') || snapshot.matches('Compacting') ? failure : null)
  }

  #followWait(snapshot: AgentSnapshot): void {
    // A sub-agent that waits has its own span.
    // A check of the policy is a wait, too.
    const facts = factsOf(snapshot.value)
    const kind = facts?.waitsFor ?? (facts?.isHeld ? 'policy' : undefined)
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

/** A request to a model, with all its retries. */
class ChatTrace {
  readonly operation: Operation
  /** Identifies the model: a fallback to another one is another request. */
  readonly #asked: string
  readonly #agent: AgentTrace
  #retries = 0
  #failure: ErrorData | null = null

  constructor(agent: AgentTrace, turn: TracedTurn, state: StreamingState, attributes: Attributes) {
    const { model, request } = turn
    this.#agent = agent
    this.#asked = askedIn(turn, state)
    this.operation = agent.begin({
      operation: 'chat',
      of: model.model,
      attributes: { ...attributes, ...requestAttributes(request), [own.step]: state.step },
      measured: { [attribute.provider]: providerName(model.provider), [attribute.model]: model.model },
    })
    if (agent.shows(this.operation)) this.operation.describe(requestContent(request, agent.hide))
  }

  /** Recognises a retry of the same request. */
  isFor(turn: TracedTurn, state: StreamingState): boolean {
    return this.#asked === askedIn(turn, state)
  }

  interrupt(failure: ErrorData | null): void {
    this.#failure = failure
  }

  retry({ attempt }: StreamingState['request'], delayMs: number): void {
    // The same wait may be seen more than once.
    if (attempt <= this.#retries) return
    this.#retries = attempt
    this.operation.event('retry', { [own.attempt]: attempt, [own.delayMs]: delayMs, ...this.#errorType })
  }

  /** Ends it, because another model is asked instead. */
  fallBack({ model: { provider, model } }: TracedTurn): void {
    const next = { [attribute.provider]: providerName(provider), [attribute.model]: model }
    this.operation.event('fallback', { ...next, ...this.#errorType })
    this.fail(this.#failure)
  }

  complete({ answer, totals, draft }: StreamingState): void {
    const { operation } = this
    const { accumulated, askedAt, firstChunkAt } = answer
    const usage = accumulated.usage ?? {}
    const finish = finishReasons[totals.finishReason]
    const wait = firstChunkAt === null ? undefined : (firstChunkAt - askedAt) / 1000
    operation.describe({
      [attribute.finishReasons]: [finish],
      ...named(usageNames, usage),
      ...(usage.cost !== undefined && { [costName]: usage.cost }),
      ...(accumulated.responseId !== '' && { [attribute.responseId]: shortId(accumulated.responseId) }),
      ...(wait !== undefined && { [attribute.timeToFirstChunk]: wait }),
      ...(answer.sent?.changed.length && { [own.prefixChanged]: answer.sent.changed }),
    })
    if (draft && this.#agent.shows(operation))
      operation.describe({ [content.output]: messagesContent([draft], this.#agent.hide, finish).json })
    const { meters } = this.#agent
    meters?.tokens(usage, operation.measured)
    if (wait !== undefined) meters?.timeToFirstChunk(wait, operation.measured)
    operation.end()
  }

  /** Ends it without an answer, and without an error if the run was aborted. */
  fail(failure: ErrorData | null): void {
    this.operation.end(failure ? this.#agent.failure(failure) : undefined)
  }

  get #errorType(): Attributes {
    return this.#failure ? { [attribute.errorType]: this.#agent.failure(this.#failure).type } : {}
  }
}

const askedIn = ({ model: { provider, model } }: TracedTurn, { request }: StreamingState): string =>
  JSON.stringify([request.modelIndex, provider, model])

/** The values of some fields, under the names that the conventions have for them. */
export const named = <Field extends string>(
  names: Readonly<Record<Field, string>>,
  values: { readonly [F in NoInfer<Field>]?: number | string[] },
): Attributes => {
  const attributes: Attributes = {}
  for (const field in names) {
    const value = values[field]
    if (value !== undefined) attributes[names[field]] = value
  }
  return attributes
}

const requestAttributes = (request: ModelRequest): Attributes => ({
  [attribute.stream]: true,
  [attribute.outputType]: request.outputSchema ? 'json' : 'text',
  ...named(settingNames, request),
})

const requestContent = (
  { messages, tools = [] }: ModelRequest,
  hide: (text: string) => string,
): Attributes => {
  const system = messages.filter(({ role }) => role === 'system')
  const said = messages.filter(({ role }) => role !== 'system')
  const { json, omitted } = messagesContent(said, hide)
  return {
    ...(system.length > 0 && { [content.system]: systemContent(system, hide) }),
    [content.input]: json,
    ...(omitted > 0 && { [own.omittedMessages]: omitted }),
    ...(tools.length > 0 && { [content.tools]: toolsContent(tools, hide) }),
  }
}
