/** Stored runs whose process is killed while a server works on their task: the next process continues by the id of the task. */
import { beforeAll, expect, test } from 'vitest'
import { buildScripts } from '../buildScripts.ts'
import { Script } from '../durable/builtScript.ts'
import { storeFile } from '../durable/storeFile.ts'
import { taskServer } from './taskServers.ts'

let script = ''

beforeAll(async () => {
  script = (await buildScripts('mcp-tasks', { script: 'test/mcp/taskProcess.ts' })).script
}, 180_000)

const resultOf = async (process: Script): Promise<string[]> =>
  JSON.parse((await process.line('done')).slice('done '.length))

test('a run whose process is killed twice gets the result of its task, which ran once', async () => {
  const { url, log, letEnd } = await taskServer()
  const path = storeFile()
  for (const _ of [1, 2]) {
    const worker = new Script(script, [url, path, 'cats'])
    await worker.line('task Working')
    await expect.poll(log).toEqual(['began cats'])
    await worker.kill()
  }
  // The server ends the task while no process of the run is there.
  letEnd()
  await expect.poll(log).toEqual(['began cats', 'ended cats'])
  const last = new Script(script, [url, path, 'cats'])
  expect(await resultOf(last)).toEqual(['The task "c" (research) is complete. Its result:\nAll about cats.'])
  expect(log()).toEqual(['began cats', 'ended cats'])
}, 180_000)

test.each([
  ['unknown', 1, 'whether it took effect is unknown'],
  ['rerun', 2, 'All about'],
] as const)(
  'a call whose answer was lost with its process is in doubt: %s',
  async (rule, times, text) => {
    const { url, log, letEnd } = await taskServer()
    const path = storeFile()
    const worker = new Script(script, [url, path, 'unanswered', rule])
    await worker.line('task Asking')
    await expect.poll(log).toEqual(['began unanswered'])
    await worker.kill()
    letEnd()
    const last = new Script(script, [url, path, 'unanswered', rule])
    expect((await resultOf(last)).join()).toContain(text)
    expect(log().filter((line) => line === 'began unanswered')).toHaveLength(times)
  },
  180_000,
)
