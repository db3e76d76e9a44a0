import { statSync } from 'node:fs'
import type { Runs } from '../../durable/index.ts'
import { type Invocation, textOption } from '../command.ts'
import { UsageError } from '../exit.ts'
import { shellWord } from './shellWord.ts'

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
