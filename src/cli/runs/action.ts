import { statSync } from 'node:fs'
import type { DurableRun, RunInfo, RunStatus, Runs } from '../../durable/index.ts'
import { isRunStatus, runStatuses } from '../../durable/runs.ts'
import { viewOf } from '../../durable/sqlite/storeView.ts'
import { type Invocation, textOption } from '../command.ts'
import { UsageError } from '../outcome.ts'
import { pendingLine } from '../progress.ts'
import { oneLine, type Paint } from '../terminalText.ts'

/** An action of `statewire runs`. The words of its invocation are those after its name. */
export type RunsAction = {
  name: string
  operands: string
  summary: string
  /** The options of `runs` that it takes, beside `--db`. */
  options: readonly string[]
  /** Returns the exit code. */
  run(invocation: Invocation, runs: Runs): Promise<number>
}

/** The run that the first word names. */
export const namedRun = async (runs: Runs, [id]: readonly string[]): Promise<DurableRun> => {
  if (id === undefined) throw new UsageError('Name a run: statewire runs lists their ids.')
  const run = await runs.get(id)
  if (!run) throw new UsageError(`There is no run "${id}". statewire runs lists the runs.`)
  return run
}

/** Notes that no process is there to continue the run, if that is so. */
export const noteOwner = (runs: Runs, { screen }: Invocation): void => {
  if (viewOf(runs)?.hasOwner()) return
  screen.note(
    screen.notePaint.yellow(
      'No program is running these agents now. Your decision is stored: the next program that opens the file with its agents continues the run.',
    ),
  )
}

/** Opens a file of runs without running any. The file must exist: opening a missing one would create it. */
export const openFile = async (invocation: Invocation): Promise<Runs> => {
  const path = textOption(invocation, 'db') ?? 'runs.db'
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new UsageError(`There is no file ${path}: name the file of the runs with --db.`)
  if (!found.isFile() || found.size === 0) throw new UsageError(`${path} is not a file of runs.`)
  const { openRuns, sqlite } = await import('../../durable/index.ts')
  return openRuns({ store: sqlite(path) })
}

/** The option that names the file again, for a command that the user may copy. */
export const fileOption = (invocation: Invocation): string => {
  const path = textOption(invocation, 'db')
  return path === undefined ? '' : ` --db ${shellWord(path)}`
}

/** Lists what a run waits for, each call with the commands that answer it. `file` is the option that names its file. */
export const pendingLines = ({ id, pending }: RunInfo, file: string): string[] =>
  pending.flatMap((call) => {
    const where = [id, call.id].map(shellWord).join(' ')
    const doubt = call.inDoubt
      ? ['      It was running when its process ended: it is not known whether it took effect.']
      : []
    const commands =
      call.kind === 'answer'
        ? [`answer${file} ${where} "…"`, `reject${file} ${where}`]
        : [`approve${file} ${where}`, `reject${file} ${where}`]
    const question = call.kind === 'limit' ? `${pendingLine(call)} Go on?` : pendingLine(call)
    return [`  ? ${question}`, ...doubt, ...commands.map((each) => `      statewire runs ${each}`)]
  })

/** A word quoted for a shell: it may come from a file, and the user may copy it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`

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
