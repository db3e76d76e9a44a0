import { setImmediate } from 'node:timers/promises'
import { type LimitReached, limitSentence, reachedIn } from '../../machines/agent/limits.ts'
import type { ToolCallPart } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import type { Approval } from '../tools/approval.ts'
import type { Lines } from './Lines.ts'
import { callLine } from './progress.ts'
import type { Screen } from './Screen.ts'

export type ApprovalOptions = {
  isApproved: boolean
  /** Undefined without a terminal. */
  lines: Lines | undefined
  screen: Screen
  /** Called when the person leaves instead of answering. */
  leave: () => void
}

/**
 * Decides on tools that need an approval: `--approve`, or the person at the terminal, one call after the other. Without
 * a terminal the call is refused, and the model learns why. Only a person may let a run continue past a limit.
 */
export class Approvals {
  readonly #options: ApprovalOptions
  #before: Promise<unknown> = Promise.resolve()
  #withdrawal = new AbortController()

  constructor(options: ApprovalOptions) {
    this.#options = options
  }

  decide(call: ToolCallPart): Approval | Promise<Approval> {
    const { isApproved, lines } = this.#options
    if (isApproved) return true
    if (!lines)
      return {
        approve: false,
        reason: 'There is no terminal to ask for approval. --approve allows every call.',
      }
    return this.#ask(`Allow ${callLine(call)}?`, lines)
  }

  /** Asks if a run may continue past a limit. */
  mayGoOn(reached: LimitReached): Approval | Promise<Approval> {
    const { lines, screen } = this.#options
    if (lines) return this.#ask(`${limitSentence(reached)} Go on?`, lines)
    screen.note(screen.notePaint.yellow(`  ! ${limitSentence(reached)} It ends here.`))
    return false
  }

  /** Decides on anything that a run can wait for. */
  decideOn(call: PendingCall): Approval | Promise<Approval> {
    return call.kind === 'limit' ? this.mayGoOn(reachedIn(call.arguments)) : this.decide(call)
  }

  /** The result of an external tool. */
  answer(call: ToolCallPart): Promise<{ result: string; isError?: true }> {
    const { lines } = this.#options
    const { signal } = this.#withdrawal
    const question = `Your answer to ${callLine(call)}:`
    const asked = this.#before.then(() => lines && this.#line(question, lines, signal))
    this.#before = asked
    return asked.then((result) => (result === undefined ? unanswered : { result }))
  }

  /** Withdraws the open question: the calls were decided on elsewhere. */
  withdraw(): void {
    this.#withdrawal.abort()
    this.#withdrawal = new AbortController()
  }

  #ask(question: string, lines: Lines): Promise<Approval> {
    const { signal } = this.#withdrawal
    const asked = this.#before.then(() => this.#answerTo(question, lines, signal))
    this.#before = asked
    return asked
  }

  async #answerTo(question: string, lines: Lines, signal: AbortSignal): Promise<Approval> {
    const { dim } = this.#options.screen.paint
    const answer = await this.#line(`${question} ${dim('[y/N]')}`, lines, signal)
    return /^\s*y(es)?\s*$/i.test(answer ?? '') || { approve: false, reason: 'The user did not allow it.' }
  }

  /** The line that a person types; undefined if they leave, or if the question is withdrawn. */
  async #line(question: string, lines: Lines, signal: AbortSignal): Promise<string | undefined> {
    const { screen, leave } = this.#options
    // What was said before the question is on its way to the screen.
    await setImmediate()
    if (signal.aborted) return undefined
    if (screen.isTerminal) screen.endLine()
    const answer = await lines.next(`${screen.paint.yellow('?')} ${question} `, signal)
    if (answer === undefined && !signal.aborted) leave()
    return answer
  }
}

const unanswered = { result: 'There is no terminal to answer this.', isError: true } as const

type Asked = Pick<PendingCall, 'id' | 'question'>

/** The part of a command that says which question it answers: the next one may be about a call of the same id. */
export const aboutOf = ({ id: callId, question }: Asked) => ({
  callId,
  ...(question !== undefined && { question }),
})

/** The command that passes a decision to a run. */
export const decisionOn = (asked: Asked, approval: Approval) => {
  const about = aboutOf(asked)
  const { approve, reason = '' } = typeof approval === 'boolean' ? { approve: approval } : approval
  return approve
    ? ({ type: 'tool.approve', ...about } as const)
    : ({ type: 'tool.reject', ...about, reason } as const)
}
