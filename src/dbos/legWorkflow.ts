import { replayLeg } from '../durable/replayLeg.ts'
import { dbosJournal } from './dbosJournal.ts'
import type { Service } from './Service.ts'

/** A leg of a run is a workflow: its id is that of the run, with the number of the leg, so that it is no other's. */
export const workflowOf = (run: string, leg: number): string => `${run}#${leg}`

/** Runs are taken from a queue for each agent: a worker that does not know an agent leaves its runs to others. */
export const queueOf = (agent: string): string => `statewire.${agent}`

export const legName = 'statewire.run'

/** The workflow. It keeps what it comes to in the table of runs, beside the journal of DBOS. */
export const runLeg = async (service: Service, run: string, leg: number, name: string): Promise<string> => {
  const agent = service.agents.get(name)
  if (!agent) throw new TypeError(`There is no agent "${name}" here.`)
  const { sdk, rows, outside, signal } = service
  const journal = await dbosJournal(sdk, workflowOf(run, leg), outside)
  // Whoever closes the service leaves its runs as they stand: what is cut off now must not be recorded as an end.
  const held = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      work.then(
        (value) => signal.aborted || resolve(value),
        (error) => signal.aborted || reject(error),
      )
    })
  const engine = {
    step: <T>(step: string, work: () => Promise<T>) => held(journal.step(step, () => held(work()))),
    write: (...args: Parameters<typeof journal.write>) => held(journal.write(...args)),
    commands: (after: number) => held(rows.commandsAfter(run, after)),
  }
  const { leg: _, ...info } = await held(rows.known(run))
  const end = await held(
    replayLeg(agent, engine, () => rows.startOf(run, leg), {
      ...(service.context && { context: (stored) => service.context?.(stored, info) }),
      signal,
      onStep: (snapshot) => void rows.progress(run, leg, snapshot).catch(() => {}),
    }),
  )
  const next = await engine.step('settle', () => rows.settle(run, leg, end))
  if (next !== null) await held(outside(() => service.startLeg(run, next, name)))
  return end.status
}
