/** A parent with an agent in every kind of state is stored, and restored in another process. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { agentStates, statePath } from '../../machines/agent/states.ts'
import { buildScripts } from '../buildScripts.ts'
import { runProgram } from '../runScript.ts'
import { childNames, parentAt } from './parentWorld.ts'

let script = ''

beforeAll(async () => {
  const entry = { parentProcess: 'test/engine/parentProcess.ts' }
  ;({ parentProcess: script } = await buildScripts('parent', entry))
})

test('each of eleven agents continues from its state, and the parent learns why one cannot', async () => {
  const parent = createActor(parentAt('before'), { clock: new SimulatedClock() }).start()
  const states = () => {
    const { children } = parent.getSnapshot()
    return childNames.map((name) => statePath(children[name]?.getSnapshot().value))
  }
  await expect
    .poll(() => childNames.filter((name, index) => !states()[index]?.endsWith(name)))
    .toEqual(['Refused'])
  // A new state in which runs are stored needs a child here.
  const [outer, stored] = [
    [...agentStates()].filter(([, { isStorable }]) => isStorable).map(([path]) => path),
    states(),
  ].map((paths) => new Set(paths.map((path) => path.split('.')[0])))
  expect(stored).toEqual(outer)

  const snapshot = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
  parent.stop()
  snapshot.children.Refused.snapshot.context.version = '99.0'
  const file = join(await mkdtemp(join(tmpdir(), 'statewire-parent-')), 'parent.json')
  await writeFile(file, JSON.stringify(snapshot))

  const { printed, code } = await runProgram(process.execPath, [script, file])
  expect(code, printed).toBe(0)
  const { ends, errors } = JSON.parse(printed.trim().split('\n').at(-1) ?? '')
  expect(Object.keys(errors)).toEqual(['Refused'])
  expect(errors.Refused).toContain('its version is "99.0"')
  const others = childNames.filter((name) => name !== 'Refused')
  expect(ends).toEqual(
    Object.fromEntries(others.map((name) => [name, expect.stringMatching(/^complete: .*Done\.$/s)])),
  )
})
