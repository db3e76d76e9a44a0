import type { InspectionEvent } from 'xstate'
import { limitSentence, reachedIn } from '../../machines/agent/limits.ts'
import { statePath } from '../../machines/agent/states.ts'
import type { Compaction } from '../messages/compaction.ts'
import { dollars } from '../messages/dollars.ts'
import type { ErrorData } from '../messages/errors.ts'
import { visibleJson } from '../messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import type { ChatResult, PendingCall, Usage, Warning } from '../messages/result.ts'
import type { Screen } from './Screen.ts'
import { oneLine } from './terminalText.ts'

/** Shows an answer as it arrives: text as it is, thinking dimmed and only on a terminal. */
export class AnswerView {
  readonly #screen: Screen
  #isThinking = false

  constructor(screen: Screen) {
    this.#screen = screen
  }

  show({ output, metadata }: Pick<ChatResult, 'output' | 'metadata'>): void {
    const { thinking, restart } = metadata
    if (restart === true) {
      this.#screen.endLine()
      const said = '  ! This message starts over: ignore what was shown of it.'
      this.#screen.note(this.#screen.notePaint.yellow(said))
    }
    if (typeof thinking === 'string' && this.#screen.isTerminal) {
      this.#isThinking = true
      this.#screen.thought(thinking)
    }
    if (output === '') return
    if (this.#isThinking) this.#screen.endLine()
    this.#isThinking = false
    this.#screen.text(output)
  }
}

/** A call in one line: `calculator(expression: 2 + 3)`. */
export const callLine = ({ name, arguments: args, argumentsRaw }: ToolCallPart): string => {
  const entries = Object.entries(args).map(([key, value]) => `${wordOf(key)}: ${wordOf(value)}`)
  return `${wordOf(name)}(${entries.join(', ') || oneLine(argumentsRaw ?? '')})`
}

/** A result in one line: `calculator → 2 + 3 = 5`. */
export const resultLine = ({ name, result, isError }: ToolResultPart): string =>
  oneLine(`${name} ${isError ? '✗' : '→'} ${result}`)

/** A text that could be taken for several arguments, or for another type, is in quotes: a person decides on what is shown. */
const wordOf = (value: unknown): string =>
  typeof value === 'string' && isPlain(value) ? value : visibleJson(value)

const isPlain = (text: string): boolean =>
  /^[^\s,:(){}[\]"'\\]+( [^\s,:(){}[\]"'\\]+)*$/u.test(text) &&
  visibleJson(text) === `"${text}"` &&
  !/^(true|false|null|-?\d[\d.eE+-]*)$/.test(text)

export const retryLine = ({ error, delayMs }: { error: ErrorData | null; delayMs: number }): string =>
  oneLine(`Trying again in ${(delayMs / 1000).toFixed(1)} s. ${error?.message ?? 'The answer did not fit.'}`)

/** A warning in one line, with the words of a server that refused the setting. */
export const warningLine = ({ message, refusal }: Warning): string =>
  oneLine(refusal === undefined ? message : `${message} It said: ${refusal}`)

/** The call or the limit that a run waits at, in one line. */
export const pendingLine = (call: PendingCall): string =>
  call.kind === 'limit' ? oneLine(limitSentence(reachedIn(call.arguments))) : callLine(call)

/** Tokens, and their cost where it is known: `120 tokens in, 15 out, $0.0042`. */
export const usageText = ({ inputTokens, outputTokens, cost }: Usage = {}): string => {
  const tokens = `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out`
  return cost === undefined ? tokens : `${tokens}, ${dollars(cost)}`
}

/** A compaction in one line: `Compacted, 6,360 to 1,310 tokens: older messages were summarised.` */
export const compactionLine = ({ kind, tokensBefore, tokensAfter }: Compaction): string => {
  const [before, after] = [tokensBefore, tokensAfter].map((tokens) => Number(tokens).toLocaleString('en-US'))
  const what = kind === 'cleared' ? 'old tool results were cleared' : 'older messages were summarised'
  return `Compacted, ${before} to ${after} tokens: ${what}.`
}

/** Reports each state that the run itself enters, including those that it only passes through. */
export const stateWatcher = (enter: (name: string) => void): ((event: InspectionEvent) => void) => {
  let shown = ''
  return (event) => {
    if (event.type !== '@xstate.microstep' || event.actorRef.sessionId !== event.rootId) return
    const name = 'value' in event.snapshot ? statePath(event.snapshot.value) : ''
    if (name === '' || name === shown) return
    shown = name
    enter(name)
  }
}
