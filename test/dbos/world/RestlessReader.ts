import type { DurableRun } from '../../../src/dbos/index.ts'
import { type ChatMessage, textOf } from '../../../src/messages/messages.ts'

/**
 * Reads the stream of a run as a browser on a train does: it leaves after a few chunks and comes back with its cursor. What
 * it puts together must be what the messages say.
 */
export class RestlessReader {
  readonly messages: ChatMessage[] = []
  readonly problems: string[] = []
  ends = 0
  restarts = 0
  #text = ''
  #after: string | undefined
  readonly #run: DurableRun
  readonly #random: () => number

  constructor(run: DurableRun, random: () => number) {
    this.#run = run
    this.#random = random
  }

  /** Until the run is over. */
  async read(): Promise<void> {
    while (this.ends === 0) {
      let left = 1 + Math.floor(this.#random() * 40)
      for await (const { cursor, chunk } of this.#run.stream(
        this.#after === undefined ? {} : { after: this.#after },
      )) {
        this.#after = cursor
        if (chunk.metadata.restart === true) {
          this.#text = ''
          this.restarts += 1
        } else this.#text += chunk.output
        for (const message of chunk.messages) this.#take(message)
        if (chunk.finishReason !== 'unspecified' && chunk.pendingApproval === undefined) this.ends += 1
        left -= 1
        if (left === 0) break
      }
    }
  }

  #take(message: ChatMessage): void {
    this.messages.push(message)
    if (message.role !== 'model') return
    // A message that is not the first of its run is set off by a newline, in the stream only.
    const shown = this.#text.replace(/^\n/, '')
    if (shown !== textOf(message))
      this.problems.push(
        `${this.#run.id}: the stream showed ${JSON.stringify(shown)} for ${JSON.stringify(textOf(message))}`,
      )
    this.#text = ''
  }
}
