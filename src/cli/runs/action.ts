import type { DurableRun, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/sqlite/storeView.ts'
import type { Invocation } from '../command.ts'
import { UsageError } from '../exit.ts'

/** What `statewire runs <name>` does. The words are those after the name. */
export type RunsAction = {
  name: string
  operands: string
  summary: string
  /** The options of `runs` that it takes, beside `--db`. */
  options: readonly string[]
  /** Gives the exit code. */
  run(invocation: Invocation, runs: Runs): Promise<number>
}

/** The run that the first word names. */
export const namedRun = async (runs: Runs, [id]: readonly string[]): Promise<DurableRun> => {
  if (id === undefined) throw new UsageError('Name a run: statewire runs lists their ids.')
  const run = await runs.get(id)
  if (!run) throw new UsageError(`There is no run "${id}". statewire runs lists the runs.`)
  return run
}

/** Says so if no process is there to continue the run. */
export const noteOwner = (runs: Runs, { screen }: Invocation): void => {
  if (viewOf(runs)?.hasOwner()) return
  screen.note(
    screen.notePaint.yellow(
      'No program is running these agents now. Your decision is stored: the next program that opens the file with its agents continues the run.',
    ),
  )
}
