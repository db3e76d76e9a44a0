import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { runProgram } from '../runScript.ts'
import type { PageProgram } from './pageProgram.ts'

/** Runs the blocks of a page, offline, and returns what is wrong with them; undefined if nothing is. */
export const runPage = async (
  { code, page }: PageProgram,
  timeout = 300_000,
): Promise<string | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), 'page-'))
  // The packages are found from here; the files that the page writes belong elsewhere.
  const inside = `process.chdir(${JSON.stringify(folder)})\n${code}\nawait endOfPage()`
  const { code: input } = await transform(inside, { loader: 'ts', target: 'node20' })
  const args = ['--import', './test/docs/offline.mjs', '--input-type=module', '-']
  const { printed, code: status } = await runProgram(process.execPath, args, { input, timeout })
  rmSync(folder, { recursive: true, force: true })
  if (status === 0) return undefined
  return `${page} ${status === null ? 'did not end by itself' : `ended with ${status}`}:\n${printed}`
}
