import type { ChatResult } from '../messages/result.ts'
import type { Screen } from './Screen.ts'

/** An answer on the screen as it comes: text as it is, thinking dimmed and only where a person sees it. */
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
