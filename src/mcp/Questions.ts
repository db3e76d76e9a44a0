import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client'
import { callOf } from '../../machines/toolCall.ts'
import { askOutside } from '../../machines/toolQuestion.ts'
import { copyJson, isJsonObject } from '../messages/json.ts'
import type { ActiveCall } from './runCall.ts'

const largestQuestion = 64_000

/** Passes a server's questions on to the run whose call they belong to. */
export class Questions {
  readonly #calls = new Set<ActiveCall>()
  #last: Promise<unknown> = Promise.resolve()

  /** Asks within this call while it lasts. */
  async during<T>(call: ActiveCall, run: () => Promise<T>): Promise<T> {
    this.#calls.add(call)
    try {
      return await run()
    } finally {
      this.#calls.delete(call)
    }
  }

  /** One after the other: a call waits for one answer at a time. */
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
    const { _meta: _, ...shown } = question
    call.timer.pause()
    try {
      return answerOf(await askOutside(call.context, 'elicitation', shown, signal))
    } finally {
      call.timer.resume()
    }
  }

  /**
   * A server does not say which call it asks for. Where the calls of several runs are on their way, the question might
   * be shown to the wrong person: then nobody is asked.
   */
  #callOfQuestion(): ActiveCall | undefined {
    const calls = [...this.#calls]
    const runs = new Set(calls.map(({ context }) => callOf(context.self)?.run))
    return runs.size === 1 ? calls.at(-1) : undefined
  }
}

/** An answer in the words of the protocol, or just what was filled in. The SDK checks it against what was asked for. */
const answerOf = (answer: unknown): ElicitResult => {
  if (!isJsonObject(answer)) return { action: answer === undefined ? 'decline' : 'cancel' }
  const { action, content = {} } = answer
  if (action === 'decline' || action === 'cancel') return { action }
  const filled = copyJson(action === 'accept' ? content : answer)
  return { action: 'accept', content: filled as NonNullable<ElicitResult['content']> }
}
