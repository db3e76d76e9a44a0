import type { Attributes } from '@opentelemetry/api'
import type { TracedCalls } from '../../machines/logic/runEnvironment.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import { errorOf, stackOf } from '../tools/toolError.ts'
import type { AgentTrace } from './AgentTrace.ts'
import { argumentsContent, resultContent } from './content.ts'
import { attribute, content, own, shortId, toolError } from './conventions.ts'
import type { Operation } from './Operation.ts'

/** The calls that an actor runs: usually one, but all calls of a turn where the user gave an executor for batches. */
export class CallTraces {
  readonly #agent: AgentTrace
  readonly #open: Map<string, Operation>

  constructor(agent: AgentTrace, traced: TracedCalls, attributes: Attributes) {
    agent.keepSecret(traced.hide)
    this.#agent = agent
    this.#open = new Map(traced.calls.map((call) => [call.id, beginCall(agent, call, traced, attributes)]))
  }

  /** The call, if it is the only one. */
  get only(): Operation | undefined {
    const [first, second] = this.#open.values()
    return second ? undefined : first
  }

  settle(results: readonly ToolResultPart[]): void {
    for (const result of results) {
      // A user's executor may return anything.
      const operation = this.#open.get(result?.id)
      if (!operation) continue
      this.#open.delete(result.id)
      const text = this.#agent.shows(operation) ? resultContent(result, this.#agent.hide) : undefined
      if (text !== undefined) operation.describe({ [content.callResult]: text })
      const error = errorOf(result)
      if (error) operation.exception(error, text === undefined ? undefined : stackOf(error, this.#agent.hide))
      operation.end(result.isError ? { type: toolError, message: text } : undefined)
    }
  }

  /** Takes the last results. A call without a result has failed. */
  settleAll(results: readonly ToolResultPart[] = []): void {
    this.settle(results)
    for (const operation of this.#open.values()) operation.end({ type: toolError })
    this.#open.clear()
  }

  /** Ends the calls, because the run no longer waits for them. */
  end(): void {
    for (const operation of this.#open.values()) operation.end()
    this.#open.clear()
  }
}

const beginCall = (
  agent: AgentTrace,
  call: ToolCallPart,
  { tools, attemptAt }: TracedCalls,
  attributes: Attributes,
): Operation => {
  const tool = tools.get(call.name)
  const { attempt } = attemptAt(call.id)
  const operation = agent.begin({
    operation: 'execute_tool',
    of: tool?.name,
    attributes: {
      ...attributes,
      [attribute.tool]: shortId(call.name),
      [attribute.toolType]: 'function',
      [attribute.callId]: shortId(call.id),
      ...(tool && { [attribute.toolDescription]: tool.description }),
      ...(attempt > 1 && { [own.attempt]: attempt }),
    },
    measured: tool ? { [attribute.tool]: tool.name } : {},
  })
  if (agent.shows(operation))
    operation.describe({ [content.callArguments]: argumentsContent(call.arguments, agent.hide) })
  return operation
}
