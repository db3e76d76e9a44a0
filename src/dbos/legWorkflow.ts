import type { ReplayEngine } from '../durable/replay/replay.ts'
import { replayLeg } from '../durable/replay/replayLeg.ts'
import { ConfigurationError, errorDataOf } from '../messages/errors.ts'
import { dbosJournal, isSuperseded } from './dbosJournal.ts'
import type { Service } from './Service.ts'

/** A leg of a run is a workflow: its id is that of the run, with the number of the leg, so that it is unique. */
export const workflowOf = (run: string, leg: number): string => `${run}#${leg}`

/** Runs are taken from a queue for each agent: a worker that does not know an agent leaves its runs to others. */
export const queueOf = (agent: string): string => `statewire.${agent}`

export const legName = 'statewire.run'

/** The workflow. It keeps what it comes to in the table of runs, beside the journal of DBOS. */
export const runLeg = async (service: Service, run: string, leg: number, name: string): Promise<string> => {
  try {
    return await legOf(service, run, leg, name)
  } catch (thrown) {
    const { sdk, rows } = service
    // Should even that fail, the sweep finds it.
    if (!isSuperseded(sdk, thrown)) await rows.giveUp(run, leg, 'failed', errorDataOf(thrown)).catch(() => {})
    throw thrown
  }
}

const legOf = async (service: Service, run: string, leg: number, name: string): Promise<string> => {
  const { sdk, rows, database, outside, signal, context: contextOf } = service
  const agent = service.agents.get(name)
  if (!agent) throw new ConfigurationError(`There is no agent "${name}" here.`)
  // Closing the service leaves its runs as they are: what is cut off now must not be recorded as an end.
  const held = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      work.then(
        (value) => signal.aborted || resolve(value),
        (error) => signal.aborted || reject(error),
      )
    })
  const insist = <T>(work: () => Promise<T>): Promise<T> => held(database.insist(work, signal))
  const journal = await held(dbosJournal(sdk, workflowOf(run, leg), outside))
  const engine: ReplayEngine = {
    step: (step, work) => held(journal.step(step, () => held(work()))),
    write: (chunks, isLive) => held(journal.write(chunks, isLive)),
    commands: (after) => insist(() => rows.commandsAfter(run, after)),
  }
  const { leg: _, ...info } = await insist(() => rows.known(run))
  const end = await held(
    replayLeg(agent, engine, () => insist(() => rows.startOf(run, leg)), {
      ...(contextOf && { context: (stored) => contextOf(stored, info) }),
      signal,
      onStep: (snapshot) => void rows.progress(run, leg, snapshot).catch(() => {}),
    }),
  )
  const next = await engine.step('settle', () => insist(() => rows.settle(run, leg, end)))
  if (next !== null) await held(outside(() => service.startLeg(run, next, name)))
  return end.status
}
