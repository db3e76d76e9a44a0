import { textOf } from '../../src/messages/messages.ts'
import type { ChatModel, ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'

/** A model that answers each request by what it is asked; one that waits can be closed. */
export const answering = (reply: (request: ModelRequest) => ScriptTurn | Promise<ScriptTurn>): ChatModel => {
  const base = scriptedModel([])
  return {
    ...base,
    stream: (request, sink) => {
      let isClosed = false
      let close = (): unknown => undefined
      void Promise.resolve(reply(request)).then((turn) => {
        if (!isClosed) close = Object(scriptedModel([turn]).stream(request, sink))
      })
      return () => {
        isClosed = true
        if (typeof close === 'function') close()
      }
    },
  }
}

export const lastText = ({ messages }: ModelRequest): string => {
  const last = messages.at(-1)
  return last ? textOf(last) : ''
}

/** Answers that are given when the test wants it, by prompt. */
export class Replies {
  readonly #open = new Map<string, (turn: ScriptTurn) => void>()

  /** The prompts that wait for their answer, in the order in which they were asked. */
  get waiting(): string[] {
    return [...this.#open.keys()]
  }

  readonly reply = (request: ModelRequest): Promise<ScriptTurn> =>
    new Promise((resolve) => this.#open.set(lastText(request), resolve))

  answer(prompt: string, turn: ScriptTurn): void {
    const resolve = this.#open.get(prompt)
    if (!resolve) throw new Error(`No model is asked "${prompt}", but ${this.waiting.join(', ')}.`)
    this.#open.delete(prompt)
    resolve(turn)
  }
}

/** The calls of a background tool for these prompts. Their ids are the prompts. */
export const calls = (name: string, ...prompts: string[]): ScriptTurn =>
  prompts.map((prompt) => ({ toolCall: { id: prompt, name, arguments: { prompt } } }))
