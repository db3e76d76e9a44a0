import type { DurableRun, RunInfo, RunStatus, Runs, StoredRuns } from '../../durable/index.ts'
import { isRunStatus, runStatuses } from '../../durable/runs.ts'
import { viewOf } from '../../durable/storeView.ts'
import { type Invocation, textOption } from '../command.ts'
import { UsageError } from '../outcome.ts'
import { pendingLine } from '../progress.ts'
import type { Paint } from '../terminalText.ts'
import { shellWord } from './openStore.ts'

/** An action of `statewire runs`. The words of its invocation are those after its name. */
export type RunsAction = {
  name: string
  operands: string
  summary: string
  /** The options of `runs` that it takes, beside `--db`. */
  options: readonly string[]
  /** Returns the exit code. */
  run(invocation: Invocation, runs: StoredRuns): Promise<number>
}

/** The run that the first word names. */
export const namedRun = async (runs: Runs, [id]: readonly string[]): Promise<DurableRun> => {
  if (id === undefined) throw new UsageError('Name a run: statewire runs lists their ids.')
  const run = await runs.get(id)
  if (!run) throw new UsageError(`There is no run "${id}". statewire runs lists the runs.`)
  return run
}

/** Notes that no process is there to continue the run, if that is so. */
export const noteOwner = async (runs: Runs, { screen }: Invocation): Promise<void> => {
  if (await viewOf(runs)?.hasOwner()) return
  screen.note(
    screen.notePaint.yellow(
      'No program is running these agents now. Your decision is stored: the next program that opens these runs with its agents continues it.',
    ),
  )
}

/** Lists what a run waits for, each call with the commands that answer it. `store` is the option that names its store. */
export const pendingLines = ({ id, pending }: RunInfo, store: string): string[] =>
  pending.flatMap((call) => {
    const where = [id, call.id].map(shellWord).join(' ')
    const doubt = call.inDoubt
      ? ['      It was running when its process ended: it is not known whether it took effect.']
      : []
    const commands =
      call.kind === 'answer'
        ? [`answer${store} ${where} "…"`, `reject${store} ${where}`]
        : [`approve${store} ${where}`, `reject${store} ${where}`]
    const question = call.kind === 'limit' ? `${pendingLine(call)} Go on?` : pendingLine(call)
    return [`  ? ${question}`, ...doubt, ...commands.map((each) => `      statewire runs ${each}`)]
  })

/** The filter of `--status`. */
export const statusOption = (invocation: Invocation): { status?: RunStatus } => {
  const status = textOption(invocation, 'status')
  if (status === undefined) return {}
  if (isRunStatus(status)) return { status }
  throw new UsageError(`"${status}" is not a status: use ${runStatuses.join(', ')}.`)
}

/** A status in its colour. */
export const painted = (status: RunStatus, paint: Paint): string => {
  const shades = {
    running: paint.cyan,
    waiting: paint.yellow,
    complete: paint.green,
    failed: paint.red,
    abandoned: paint.red,
    aborted: paint.dim,
  }
  return shades[status](status)
}
