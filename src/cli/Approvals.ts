import { setImmediate } from 'node:timers/promises'
import { type LimitReached, limitId, limitSentence, reachedIn } from '../../machines/agent/limits.ts'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
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
  /** Questions that can be withdrawn, by the id of their call. */
  readonly #open = new Map<string, AbortController>()
  /** The tools of this turn that a person allowed for good: the run itself does so for later turns. */
  readonly #allowed = new Set<string>()

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
    return this.#ask(call.id, (signal) => this.#decisionOn(call, lines, signal))
  }

  /** Asks if a run may continue past a limit. */
  mayGoOn(reached: LimitReached): Approval | Promise<Approval> {
    const { lines, screen } = this.#options
    if (lines)
      return this.#ask(limitId, (signal) => this.#mayGoOn(`${limitSentence(reached)} Go on?`, lines, signal))
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
    const question = `Your answer to ${callLine(call)}:`
    const asked = this.#ask(call.id, async (signal) => lines && this.#newLine(question, lines, signal))
    return asked.then((result) => (result === undefined ? unanswered : { result }))
  }

  /**
   * Withdraws the question about a call, or every question: it was decided on elsewhere. A run that works on a call has
   * also continued past its limit.
   */
  withdraw(callId?: string): void {
    this.#allowed.clear()
    for (const [id, controller] of this.#open) {
      const isMeant = callId === undefined || id === callId || id === limitId || id.startsWith(`${callId}/`)
      if (!isMeant) continue
      this.#open.delete(id)
      controller.abort()
    }
  }

  #ask<T>(id: string, question: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    this.#open.get(id)?.abort()
    this.#open.set(id, controller)
    const asked = this.#before.then(() => question(controller.signal))
    this.#before = asked
    return asked
  }

  /** Asks until one of the four words is typed, or its first letter: no other key decides on a call. */
  async #decisionOn(call: ToolCallPart, lines: Lines, signal: AbortSignal): Promise<Approval> {
    const { screen } = this.#options
    const question = `Allow ${callLine(call)}? ${screen.paint.dim('[yes/no/edit/always]')}`
    for (;;) {
      if (this.#allowed.has(call.name)) return true
      const answer = await this.#newLine(question, lines, signal)
      if (answer === undefined) return refused('')
      const [word = '', ...rest] = answer.trim().split(/\s+/)
      const choice = choices.find((each) => word !== '' && each.startsWith(word.toLowerCase()))
      if (choice === 'yes') return true
      if (choice === 'always') {
        this.#allowed.add(call.name)
        return { approve: true, remember: 'tool' }
      }
      if (choice === 'no')
        return refused(rest.length > 0 ? rest.join(' ') : await this.#line('Why not?', lines, signal))
      const edited = choice === 'edit' && (await this.#edited(call.arguments, lines, signal))
      if (edited) return { approve: true, arguments: edited }
      if (choice === undefined)
        screen.note(
          'Type yes, no, no and a reason, edit for other arguments, or always for this tool in this run.',
        )
    }
  }

  /** The arguments as a person changes them; undefined if they leave them as they are. */
  async #edited(from: JsonObject, lines: Lines, signal: AbortSignal): Promise<JsonObject | undefined> {
    let text = JSON.stringify(from)
    for (;;) {
      const typed = await this.#line('Arguments:', lines, signal, text)
      if (typed === undefined || typed.trim() === '' || typed === JSON.stringify(from)) return undefined
      try {
        const value: unknown = JSON.parse(typed)
        if (isJsonObject(value)) return value
        throw new TypeError('Arguments are a JSON object.')
      } catch (error) {
        this.#options.screen.note(`${describeThrown(error)} An empty line leaves them as they were.`)
        text = typed
      }
    }
  }

  async #mayGoOn(question: string, lines: Lines, signal: AbortSignal): Promise<Approval> {
    const { dim } = this.#options.screen.paint
    const answer = await this.#newLine(`${question} ${dim('[y/N]')}`, lines, signal)
    return /^\s*y(es)?\s*$/i.test(answer ?? '') || refused('')
  }

  /** The line that a person types when the question is on the screen. */
  async #newLine(question: string, lines: Lines, signal: AbortSignal): Promise<string | undefined> {
    // What was said before the question is on its way to the screen.
    await setImmediate()
    if (!signal.aborted) lines.dropTyped()
    return this.#line(question, lines, signal)
  }

  /** The line that a person types, from a text that is there; undefined if they leave, or if the question is withdrawn. */
  async #line(question: string, lines: Lines, signal: AbortSignal, text = ''): Promise<string | undefined> {
    const { screen, leave } = this.#options
    // What was said before the question is on its way to the screen.
    await setImmediate()
    if (signal.aborted) return undefined
    if (screen.isTerminal) screen.endLine()
    const answer = await lines.next(`${screen.paint.yellow('?')} ${question} `, signal, text)
    if (answer === undefined && !signal.aborted) leave()
    return answer
  }
}

const choices = ['yes', 'no', 'edit', 'always'] as const

const refused = (reason = ''): Approval => ({
  approve: false,
  reason: reason.trim() === '' ? 'The user did not allow it.' : `The user did not allow it: ${reason.trim()}`,
})

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
  const {
    approve,
    reason = '',
    ...options
  } = typeof approval === 'boolean' ? { approve: approval } : approval
  return approve
    ? ({ type: 'tool.approve', ...options, ...about } as const)
    : ({ type: 'tool.reject', ...about, reason } as const)
}
