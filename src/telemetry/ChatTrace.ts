import type { Attributes } from '@opentelemetry/api'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import type { TracedTurn } from '../../machines/logic/runEnvironment.ts'
import type { ErrorData } from '../messages/errors.ts'
import type { ModelRequest } from '../model/chatModel.ts'
import type { AgentTrace } from './AgentTrace.ts'
import {
  attribute,
  content,
  finishReasons,
  own,
  providerName,
  settingNames,
  usageNames,
} from './conventions.ts'
import { messagesContent, systemContent, toolsContent } from './messageContent.ts'
import type { Operation } from './Operation.ts'
import { shortId } from './shortId.ts'

/** One question to a model, with all its retries. */
export class ChatTrace {
  readonly operation: Operation
  /** Another model is another question. */
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

  /** Whether a request is another try at the same question. */
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

  /** Another model is asked instead. */
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
      ...(accumulated.responseId !== '' && { [attribute.responseId]: shortId(accumulated.responseId) }),
      ...(wait !== undefined && { [attribute.timeToFirstChunk]: wait }),
    })
    if (draft && this.#agent.shows(operation))
      operation.describe({ [content.output]: messagesContent([draft], this.#agent.hide, finish).json })
    const { meters } = this.#agent
    meters?.tokens(usage, operation.measured)
    if (wait !== undefined) meters?.timeToFirstChunk(wait, operation.measured)
    operation.end()
  }

  /** It ends without an answer; also without an error, if the run was aborted. */
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
const named = <Field extends string>(
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
