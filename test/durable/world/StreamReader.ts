import { stableJson } from '../../../src/messages/json.ts'
import { type ChatMessage, textOf } from '../../../src/messages/messages.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import type { StreamItem } from './workerRuns.ts'

/** A reader of the stream of a run, through everything that breaks, which says what is wrong with it. */
export class StreamReader {
  readonly messages: ChatMessage[] = []
  readonly #faults: string[] = []
  /** The cursor after which it continues after a break. */
  cursor: string | undefined
  /** The end of the run, once there is one. */
  finish: string | undefined
  /** The calls that the run waits for, if the last chunk said so. */
  waitsFor: readonly PendingCall[] = []
  restarts = 0
  /** The text since the last message: a restart voids it. */
  #text = ''

  take({ cursor, chunk }: StreamItem): void {
    this.cursor = cursor
    if (this.finish !== undefined) this.#faults.push(`a chunk after the end, at ${cursor}`)
    if (chunk.metadata.restart === true) {
      this.#text = ''
      this.restarts += 1
    }
    this.#text += chunk.output
    for (const message of chunk.messages) this.#takeMessage(message)
    this.waitsFor = chunk.pendingApproval?.calls ?? []
    if (chunk.finishReason !== 'unspecified' && this.waitsFor.length === 0) this.finish = chunk.finishReason
  }

  /** Everything that was wrong, now that the run has ended with these messages. */
  faultsAgainst(messages: readonly ChatMessage[]): string[] {
    const isSame = stableJson(this.messages) === stableJson(messages)
    return [
      ...this.#faults,
      ...(isSame ? [] : [`showed ${described(this.messages)} instead of ${described(messages)}`]),
    ]
  }

  #takeMessage(message: ChatMessage): void {
    const shown = this.#text
    this.#text = ''
    this.messages.push(message)
    if (message.role !== 'model') return
    const text = textOf(message)
    // Between two messages there is a newline, in the stream only.
    if (shown !== text && shown !== `\n${text}`)
      this.#faults.push(`showed ${JSON.stringify(shown)} of ${JSON.stringify(text)}`)
  }
}

const described = (messages: readonly ChatMessage[]): string =>
  messages.map(({ role, parts }) => `${role}(${parts.map(({ type }) => type).join(' ')})`).join(', ')
