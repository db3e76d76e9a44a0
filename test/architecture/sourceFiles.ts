import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export type SourceFile = { path: string; text: string }

/** The files below some folders that are in git, or would be: what a build leaves there is not a source. */
export const filesIn = (folders: readonly string[], names: RegExp): SourceFile[] => {
  const args = ['ls-files', '-co', '--exclude-standard', '--', ...folders]
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split('\n')
    .filter((path) => names.test(path) && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** The number of the line that a position is in. */
export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length
