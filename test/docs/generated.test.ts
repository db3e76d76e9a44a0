import { expect, test } from 'vitest'
import { runScript } from '../runScript.ts'

test('what is generated in the documents is up to date, and every public name is described', async () => {
  const { printed, code } = await runScript('scripts/docs.mjs', ['--check'], { timeout: 600_000 })
  expect(code, printed).toBe(0)
}, 600_000)
