import type { Actor } from 'xstate'
import type { AgentEmitted, AgentMachine } from '../../machines/index.ts'
import type { ChatModel, StatewireError, ToolCallPart } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'

/** The record of an actor until its end: everything emitted, the states it was in, and its output. */
export type Watched = { emitted: AgentEmitted[]; states: unknown[]; output: unknown; error: string }

/** Starts an actor and records what it emits. `onEmitted` may act on it. */
export const playActor = (
  actor: Actor<AgentMachine>,
  onEmitted: (event: AgentEmitted) => void = () => {},
): Promise<Watched> =>
  new Promise((resolve) => {
    const watched: Watched = { emitted: [], states: [], output: undefined, error: '' }
    const end = (error: string) => resolve({ ...watched, output: actor.getSnapshot().output, error })
    actor.on('*', (event) => {
      watched.emitted.push(event)
      onEmitted(event)
    })
    actor.subscribe({
      next: ({ value, status }) => watched.states.push([value, status]),
      error: (thrown) => end(String(thrown)),
      complete: () => end(''),
    })
    actor.start()
  })

/** The chunks of a stream, and what it ended with. */
export const collected = async <T>(
  chunks: AsyncIterable<T>,
  onChunk: (chunk: T, count: number) => void = () => {},
): Promise<unknown> => {
  const all: T[] = []
  try {
    for await (const chunk of chunks) onChunk(chunk, all.push(chunk))
  } catch (thrown) {
    return { chunks: all, failure: failureOf(thrown) }
  }
  return { chunks: all }
}

/** What a promise gives, or the error it ends in, as data. */
export const outcome = <T>(promise: Promise<T>): Promise<unknown> =>
  promise.catch((thrown: unknown) => failureOf(thrown))

const failureOf = (thrown: unknown): unknown => {
  const { name, message, partial } = thrown as StatewireError
  return { name, message, partial }
}

/** A model that looks at what it is asked: a restored run finds the right answer at any point. */
export const answering = (turnFor: (results: number) => ScriptTurn): ChatModel => ({
  ...scriptedModel([]),
  stream: (request, sink) => {
    const results = request.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'toolResult'))
    return scriptedModel([turnFor(results.length)]).stream(request, sink)
  },
})

/** A step of a script that calls a tool. */
export const call = (id: string, name: string, args: ToolCallPart['arguments'] = {}) => ({
  toolCall: { id, name, arguments: args },
})

/** Everything that is due now has happened afterwards. */
export const idle = async (): Promise<void> => {
  for (let round = 0; round < 5; round += 1) await new Promise<void>((next) => setImmediate(next))
}
