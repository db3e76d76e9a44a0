import type { DurableRun, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
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
  if (id === undefined) throw new UsageError('Which run? statewire runs lists their ids.')
  const run = await runs.get(id)
  if (!run) throw new UsageError(`There is no run "${id}". statewire runs lists those that there are.`)
  return run
}

/** Says so if what was stored has to wait for somebody. */
export const noteOwner = (runs: Runs, { screen }: Invocation): void => {
  if (viewOf(runs)?.hasOwner()) return
  screen.note(
    screen.notePaint.yellow(
      'Nobody runs these runs now. It is stored: the next program that opens the file with its agents goes on with it.',
    ),
  )
}
