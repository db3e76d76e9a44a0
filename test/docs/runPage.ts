import { transform } from 'esbuild'
import { runProgram } from '../runScript.ts'
import type { PageProgram } from './pageProgram.ts'

/** Runs the blocks of a page, offline, and tells what is wrong with them if it is anything. */
export const runPage = async ({ code, page }: PageProgram, timeout = 60_000): Promise<string | undefined> => {
  const { code: input } = await transform(`${code}\nawait endOfPage()`, { loader: 'ts', target: 'node20' })
  const args = ['--import', './test/docs/offline.mjs', '--input-type=module', '-']
  const { printed, code: status } = await runProgram(process.execPath, args, { input, timeout })
  if (status === 0) return undefined
  return `${page} ${status === null ? 'did not end by itself' : `ended with ${status}`}:\n${printed}`
}
