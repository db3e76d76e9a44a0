import type { Actor, SnapshotFrom } from 'xstate'
import type { AgentEmitted, AgentMachine, AgentOutput, RunMachine } from '../../machines/index.ts'
import type { ChatResult } from '../../src/messages/result.ts'

export type AgentActor = Actor<RunMachine>
export type AgentSnapshot = SnapshotFrom<AgentMachine>
export type Chunk = Extract<AgentEmitted, { type: 'chunk' }>

const emittedTypes = [
  'chunk',
  'message',
  'tool.delta',
  'tool.call',
  'tool.result',
  'step',
  'retry',
] as const satisfies AgentEmitted['type'][]

export type Watched = {
  emitted: AgentEmitted[]
  snapshots: AgentSnapshot[]
  /** `JSON.stringify` of the persisted snapshot at each of `snapshots`. */
  stored: string[]
  readonly chunks: Chunk[]
  /** Chunks that end a run: there must be exactly one of them. */
  readonly finals: Chunk[]
  readonly states: string[]
}

/** Writes down everything an actor emits; call it before `start`. */
export const watch = (actor: AgentActor): Watched => {
  const emitted: AgentEmitted[] = []
  const snapshots: AgentSnapshot[] = []
  const stored: string[] = []
  for (const type of emittedTypes) actor.on(type, (event) => emitted.push(event))
  actor.subscribe((snapshot) => {
    snapshots.push(snapshot)
    stored.push(JSON.stringify(actor.getPersistedSnapshot()))
  })
  return {
    emitted,
    snapshots,
    stored,
    get chunks() {
      return emitted.filter((event) => event.type === 'chunk')
    },
    get finals() {
      return this.chunks.filter((chunk) => chunk.finishReason !== 'unspecified')
    },
    get states() {
      return snapshots.map(stateName)
    },
  }
}

/** `Accumulating.Streaming` */
export const stateName = ({ value }: AgentSnapshot): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value)
        .map(([state, child]) => `${state}.${child}`)
        .join()

/** The output of a run that ends by itself, soon. */
export const endOf = (actor: AgentActor, withinMs = 30_000): Promise<AgentOutput> =>
  new Promise((resolve, reject) => {
    const tooLong = setTimeout(() => {
      reject(new Error(`The run hangs in ${stateName(actor.getSnapshot())}.`))
    }, withinMs)
    const done = () => {
      clearTimeout(tooLong)
      const { output } = actor.getSnapshot()
      if (output) resolve(output)
      else reject(new Error('The actor stopped without an output.'))
    }
    if (actor.getSnapshot().status === 'done') done()
    else actor.subscribe({ complete: done, error: reject })
  })

/** Everything that is due now has happened afterwards. */
export const idle = async (rounds = 3): Promise<void> => {
  for (let round = 0; round < rounds; round += 1) await new Promise<void>((next) => setImmediate(next))
}

export const collect = async <T>(chunks: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

/** What a promise that must reject rejects with, if it is of this class. */
export const rejection = async <E extends Error>(
  promise: Promise<unknown>,
  kind: abstract new (...args: never[]) => E,
): Promise<E> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  throw new Error('It did not reject.')
}

/** A chunk in one word: its text, the role of its message, its metadata, or how the run ended. */
export const brief = ({
  output,
  messages,
  metadata,
  finishReason,
}: Omit<ChatResult, 'pendingApproval'>): unknown => {
  if (messages.length > 0) return messages.map(({ role }) => role).join()
  if (output !== '') return { text: output }
  return finishReason === 'unspecified' ? { metadata } : { finishReason }
}
