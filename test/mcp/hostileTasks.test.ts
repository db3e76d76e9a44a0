/** Servers that answer about their tasks as they should not: a task ends all the same, and says why. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { isTaskResult, textOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected, ownServer } from './servers.ts'

const second = 1000
const hour = 3_600_000

/** A clock that notes how long it is to wait. */
class NotingClock extends SimulatedClock {
  readonly waits: number[] = []

  override setTimeout(callback: () => void, ms: number): number {
    this.waits.push(ms)
    return super.setTimeout(callback, ms)
  }
}

/** A run with a task of this tool, whose time the test moves, and what the server noted. */
const started = async (name: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-hostile-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'log')
  const remote = await connected(ownServer('hostileTasks.mjs', path))
  const model = scriptedModel([[{ toolCall: { id: 'c', name } }], 'I wait.', 'done'])
  const clock = new NotingClock()
  const run = new Agent(model, { tools: [remote], clock }).start('go')
  const log = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])
  const asked = () => log().filter((line) => line === `asked ${name}`).length
  return { run, clock, log, asked }
}

/** The end of a task of this tool, if time passes in steps of this length. */
const endOf = async (name: string, stepMs: number) => {
  const { run, clock, ...rest } = await started(name)
  const pass = () => {
    // The model keeps time, too.
    if (run.state === 'AwaitingTasks') clock.increment(stepMs)
    return run.state
  }
  await expect.poll(pass).toBe('Complete')
  const { messages } = await run.result
  return { text: messages.filter(isTaskResult).map(textOf).join(), ...rest }
}

test.each([
  ['endless', 'did not end within 3600000 ms'],
  ['lazy', 'did not end within 3600000 ms'],
  ['odd', 'The server sent the status "exploded"'],
  ['none', 'The server sent the status "undefined"'],
])('%s: the task fails, and is cancelled', async (name, reason) => {
  const { text, log } = await endOf(name, hour)
  expect(text).toContain(`The task "c" (${name}) failed: `)
  expect(text).toContain(reason)
  await expect.poll(log).toContain(`cancelled ${name}`)
})

test.each([
  ['eager', 100],
  ['lazy', 60 * second],
])('%s: the server is asked again after a sensible time', async (name, ms) => {
  const { clock, asked } = await started(name)
  await expect.poll(() => clock.waits).toContain(ms)
  expect(asked()).toBe(1)
  clock.increment(ms)
  await expect.poll(asked).toBe(2)
})

test.each(['numbered', 'nameless', 'plain'])(
  '%s: an answer without the id of a task is an error',
  async (name) => {
    const { text, log } = await endOf(name, second)
    expect(text).toContain('did not answer with the id of a task; whether the call took effect is unknown')
    expect(log()).toEqual([])
  },
)

test('a task that the server forgets fails after a few requests', async () => {
  const { text, log } = await endOf('mute', second)
  expect(text).toContain('There is no such task.')
  expect(log().filter((line) => line === 'asked mute')).toHaveLength(5)
})

test('a task that has ended without a result fails, and a long message is cut', async () => {
  expect((await endOf('resultless', second)).text).toContain('There is no such task.')
  const { text } = await endOf('huge', second)
  expect(text.length).toBeLessThan(5000)
})
