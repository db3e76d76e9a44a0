import type { RunStatus } from '../../durable/index.ts'
import { isRunStatus, runStatuses } from '../../durable/runs.ts'
import { type Invocation, textOption } from '../command.ts'
import { UsageError } from '../exit.ts'
import type { Paint } from '../paint.ts'

/** What `--status` asks for. */
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
