import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import { callOf } from '../../machines/tools/toolCall.ts'
import { askOutside } from '../../machines/tools/toolQuestion.ts'
import { ToolExecutionError } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ToolContext } from '../tools/tool.ts'
import { within } from '../transport/onAbort.ts'
import type { ActiveCall } from './call.ts'

/**
 * A question of a server to the person: a message, and a schema of the fields to fill in.
 *
 * @example const ask = async ({ message }: McpQuestion) => ({ name: await readLine(message) })
 */
export type McpQuestion = { message: string; requestedSchema: JsonObject }

/**
 * Answers a question: with the filled fields, or with `{ action: 'decline' }` or `{ action: 'cancel' }`. It gets the id of
 * the call, and the `context` and the `signal` of its run.
 *
 * @example await connectMcp({ url, elicitation: ({ message }) => askInTerminal(message) })
 */
export type AnswerQuestion = (
  question: McpQuestion,
  call: Pick<ToolContext, 'callId' | 'context' | 'signal'>,
) => unknown

const largestQuestion = 64_000

/** Passes a server's questions on to the run whose call they belong to, or to the user's function. */
export class Questions {
  readonly #answer: AnswerQuestion | undefined
  readonly #calls = new Set<ActiveCall>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(answer?: AnswerQuestion) {
    this.#answer = answer
  }

  /** Runs a call. Questions that the server asks meanwhile belong to it. */
  async during<T>(call: ActiveCall, run: () => Promise<T>): Promise<T> {
    this.#calls.add(call)
    try {
      return await run()
    } finally {
      this.#calls.delete(call)
    }
  }

  /** Asks questions one after the other: a call waits for one answer at a time. */
  readonly ask = (
    { params }: ElicitRequest,
    { mcpReq }: { mcpReq: { signal: AbortSignal } },
  ): Promise<ElicitResult> => {
    const asked = this.#last.then(() => this.#ask(params, mcpReq.signal))
    this.#last = asked.catch(() => {})
    return asked
  }

  async #ask(params: ElicitRequest['params'], signal: AbortSignal): Promise<ElicitResult> {
    const call = this.#callOfQuestion()
    const question = copyJson(params)
    if (!call || !isJsonObject(question) || JSON.stringify(question).length > largestQuestion)
      return { action: 'cancel' }
    const { message, requestedSchema } = question
    const shown = {
      message: String(message),
      requestedSchema: isJsonObject(requestedSchema) ? requestedSchema : {},
    }
    call.timer.pause()
    try {
      const ask = this.#answer ?? ((each) => askOutside(call.context, 'elicitation', each, signal))
      // A function that never answers must not keep the next question waiting.
      const end = AbortSignal.any([signal, call.context.signal])
      const answer = Promise.resolve(ask(shown, call.context))
      return answerOf(
        await within(answer, { signal: end, timeout: () => new ToolExecutionError('There was no answer.') }),
      )
    } finally {
      call.timer.resume()
    }
  }

  /**
   * The call that a question belongs to. A server does not name the call: with calls of several runs under way, the
   * question might reach the wrong person, so it is not asked.
   */
  #callOfQuestion(): ActiveCall | undefined {
    const calls = [...this.#calls]
    const runs = new Set(calls.map(({ context }) => callOf(context.self)?.run))
    return runs.size === 1 ? calls.at(-1) : undefined
  }
}

/** The answer in the form of the protocol. A function may give just the filled fields. The SDK checks them with the schema. */
const answerOf = (answer: unknown): ElicitResult => {
  if (!isJsonObject(answer)) return { action: answer === undefined ? 'decline' : 'cancel' }
  const { action, content = {} } = answer
  if (action === 'decline' || action === 'cancel') return { action }
  const filled = copyJson(action === 'accept' ? content : answer)
  return { action: 'accept', content: filled as NonNullable<ElicitResult['content']> }
}
