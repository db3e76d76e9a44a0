import { AsyncLocalStorage } from 'node:async_hooks'
import type { ReplayEngine } from '../durable/replay/engine.ts'
import type { DurableChunk } from '../durable/runs.ts'
import { newId } from '../model/newId.ts'
import type { Dbos } from './Database.ts'

/** The name of the stream that a segment writes. */
export const streamKey = 'chunks'

/** Chunks that are written together. DBOS writes them twice when it loses its connection in between: the id shows that. */
export type StreamEntry = { id: string; chunks: readonly DurableChunk[] }

/** The name under which DBOS records a write to a stream. */
const writeName = 'DBOS.writeStream'
/** A step that was under way when its process ended, and left its place empty. */
const lostName = 'lost'

/**
 * The steps and writes of a segment, in the journal of DBOS. DBOS counts steps; here they go by name, because parallel
 * calls end in any order. So a recovered segment first walks through everything that is recorded, in its order, and new
 * steps come after that.
 *
 * Call it inside the workflow. `outside` is a context beyond it: queries there are not recorded.
 */
export const dbosJournal = async (
  sdk: Dbos,
  workflow: string,
  outside: <T>(work: () => T) => T,
): Promise<Pick<ReplayEngine, 'step' | 'write'>> => {
  const { DBOS } = sdk
  // Sockets and timers call actors back in the context in which they were opened.
  const inWorkflow = AsyncLocalStorage.snapshot()
  const recorded = (await outside(() => DBOS.listWorkflowSteps(workflow))) ?? []
  const byPlace = new Map(recorded.map((step) => [step.functionID, step]))
  const places = 1 + Math.max(-1, ...byPlace.keys())
  // DBOS records the error of a step, too. The step is done again, in another place.
  const failed = (thrown: unknown): null => {
    if (isSuperseded(sdk, thrown)) throw thrown
    return null
  }
  const walk = Array.from({ length: places }, (_, place) => {
    const name = byPlace.get(place)?.name ?? lostName
    return name === writeName
      ? DBOS.writeStream(streamKey, null)
      : DBOS.runStep(async () => null, { name }).catch(failed)
  })
  await Promise.all(walk)
  const known = new Map(
    recorded
      .filter(({ error, name }) => error === null && name !== lostName)
      .map((step) => [step.name, step]),
  )
  let written = recorded.filter(({ name }) => name === writeName).length
  let writing: Promise<void> = Promise.resolve()
  return {
    step: async <T>(name: string, run: () => Promise<T>): Promise<T> => {
      const found = known.get(name)
      // The same code returned what is recorded under a name.
      return found ? (found.output as T) : await inWorkflow(() => DBOS.runStep(run, { name }))
    },
    write: async (chunks, isLive) => {
      const entry: StreamEntry = { id: newId(), chunks }
      if (isLive) return await DBOS.writeStream(streamKey, entry)
      written -= 1
      if (written >= 0) return
      // DBOS puts concurrent writes into any order.
      writing = writing.then(() => inWorkflow(() => DBOS.writeStream(streamKey, entry)))
      await writing
    },
  }
}

/** Recognises that another worker has the segment now, or that it was cancelled: only DBOS may see that error. */
export const isSuperseded = ({ Error: errors }: Dbos, thrown: unknown): boolean =>
  thrown instanceof errors.DBOSWorkflowConflictError ||
  thrown instanceof errors.DBOSWorkflowCancelledError ||
  // A worker that wakes up after another one has gone on finds other steps in the journal than its own.
  thrown instanceof errors.DBOSUnexpectedStepError
