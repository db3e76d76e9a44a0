/** A process that is killed while a check holds its run: the check runs again, and nothing has run before it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildScripts } from '../buildScripts.ts'
import { Script } from '../durable/builtScript.ts'
import { storeFile } from '../durable/storeFile.ts'

test('three kills in a hold: nothing runs, the budget is counted once, and the run ends as planned', async () => {
  const { script } = await buildScripts('policy-hold', { script: 'test/policy/holdProcess.ts' })
  const path = storeFile()
  const logged = () => readFileSync(`${path}.log`, 'utf8').trim().split('\n')
  for (const count of [1, 2, 3]) {
    const held = new Script(script, [path, 'hang'])
    await held.line('checking')
    await held.kill()
    expect(logged()).toEqual(Array(count).fill('check'))
  }
  const last = new Script(script, [path, 'pass'])
  expect(JSON.parse((await last.line('done')).slice('done '.length))).toEqual({
    output: 'Done.',
    results: [
      ['1', false],
      ['2', false],
      ['3', true],
    ],
  })
  expect(logged()).toEqual([...Array(4).fill('check'), 'saw 1', 'paid 2'])
}, 180_000)
