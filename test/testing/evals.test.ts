import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startSimulator } from '../../src/simulator/index.ts'
import { codeBlocks } from '../docs/codeBlocks.ts'
import { fromRegistry } from '../fromRegistry.ts'
import { runProgram } from '../runScript.ts'

// The eval of docs/evals.md, run by the real vitest-evals: first it records, then it needs neither key nor network. The package is
// fetched for it alone, because it does not get along with the newest `ai`, which other tests need.

const source = (): string => {
  const block = codeBlocks('docs/evals.md').find(({ notRun }) => notRun?.includes('evals.test.ts'))
  if (!block) throw new Error('docs/evals.md has no block that is run here.')
  return block.code
}

/** What a test run sees in place of the provider: the simulator, or nothing at all. */
const setup = `
const { fetch } = globalThis
const { SIMULATOR } = process.env
globalThis.fetch = (url, init) => {
  if (!SIMULATOR) throw new Error('A replay must not go to the network.')
  return fetch(url.replace('https://api.openai.com/v1', SIMULATOR), init)
}
`

const config = `
export default {
  resolve: { alias: [
    { find: /^statewire$/, replacement: ${JSON.stringify(resolve('dist/index.js'))} },
    { find: 'statewire/testing', replacement: ${JSON.stringify(resolve('dist/testing.js'))} },
  ] },
  test: { setupFiles: ['./setup.mjs'], reporters: ['json'], outputFile: 'result.json' },
}
`

test('the eval of the guide records, and then replays without a key', async ({ skip }) => {
  const found = await fromRegistry('vitest-evals', '0.16.1')
  if ('problem' in found) {
    console.warn(found.problem)
    return skip(found.problem)
  }
  const home = resolve(found.folder, '../..')
  const folder = mkdtempSync(join(home, 'eval-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'weather.eval.test.ts'), source())
  writeFileSync(join(folder, 'setup.mjs'), setup)
  writeFileSync(join(folder, 'vitest.config.mjs'), config)
  const run = async (own: Record<string, string>): Promise<unknown> => {
    // Nothing of the run that this test is a part of.
    const inherited = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_ENV)/.test(name))
    const options = { cwd: folder, env: { ...Object.fromEntries(inherited), ...own }, timeout: 300_000 }
    const vitest = join(home, 'node_modules/vitest/vitest.mjs')
    const { printed, code } = await runProgram(process.execPath, [vitest, 'run'], options)
    expect(code, printed).toBe(0)
    return JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'))
  }

  const { baseUrl, close } = await startSimulator({ delayMs: 0 })
  const recorded = await run({ OPENAI_API_KEY: 'a-key-for-evals', SIMULATOR: baseUrl, CI: '' })
  await close()
  expect(recorded).toMatchObject({ success: true, numPassedTests: 2 })
  expect(readdirSync(join(folder, 'tapes'))).toEqual([
    'What-is-the-weather-in-Oslo-.json',
    'What-is-the-weather-in-Rome-.json',
  ])
  const replayed = await run({ OPENAI_API_KEY: '', SIMULATOR: '', CI: 'true' })
  expect(replayed).toMatchObject({ success: true, numPassedTests: 2 })
}, 900_000)
