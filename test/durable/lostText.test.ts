/** A reader that has seen text which was never stored starts over, also if its process lives. */
import { renameSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { DurableRun } from '../../src/durable/index.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { textOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { opened, storeFile } from './storeFile.ts'

const open = await findDriver()

/** The text of a reader, up to now and at the end of the run. */
const reading = (run: DurableRun) => {
  const seen = { text: '', restarts: 0, shown: '' }
  const read = async () => {
    for await (const { chunk } of run.stream()) {
      if (chunk.metadata.restart === true) {
        seen.text = ''
        seen.restarts += 1
      }
      seen.text += chunk.output
      for (const message of chunk.messages) if (message.role === 'model') seen.shown = textOf(message)
    }
    return seen
  }
  return { seen, end: read() }
}

/** An answer that stops before its first text until the clock moves, and after it for ever. */
const half = [{ delayMs: 1 }, { text: 'Half' }, { hang: true }] as const
const whole = ['One', ', two', ', three', '.'].map((text) => ({ text }))

test('when another process has taken its run', async () => {
  const path = storeFile()
  const clock = new SimulatedClock()
  const model = scriptedModel([half], { clock })
  const first = await opened(path, { agent: new Agent(model) })
  const { seen, end } = reading(await first.start('agent', 'Count', { id: 'job' }))
  await expect.poll(() => model.requests.length).toBe(1)
  renameSync(`${path}-owner`, `${path}-owner-old`)
  const other = scriptedModel([whole], { clock: new SimulatedClock() })
  await opened(path, { agent: new Agent(other) })
  // The first one does not know it yet.
  clock.increment(1)
  await expect.poll(() => seen.shown).toBe('One, two, three.')
  expect((await end).text).toBe('One, two, three.')
})

test('when its run ends elsewhere before as much was shown there', async () => {
  const path = storeFile()
  const clock = new SimulatedClock()
  const long = [
    { delayMs: 1 },
    ...Array.from({ length: 9 }, () => ({ text: 'Half' })),
    { hang: true } as const,
  ]
  const model = scriptedModel([long], { clock })
  const first = await opened(path, { agent: new Agent(model) })
  const { end } = reading(await first.start('agent', 'Count', { id: 'job' }))
  await expect.poll(() => model.requests.length).toBe(1)
  renameSync(`${path}-owner`, `${path}-owner-old`)
  await opened(path, { agent: new Agent(scriptedModel(['One.'])) })
  clock.increment(1)
  expect(await end).toMatchObject({ text: 'One.', shown: 'One.' })
})

test('when the store could not be written', async () => {
  const path = storeFile()
  const clock = new SimulatedClock()
  const model = scriptedModel([half, whole], { clock })
  const runs = await opened(path, { agent: new Agent(model) })
  const run = await runs.start('agent', 'Count', { id: 'job' })
  const { seen, end } = reading(run)
  await expect.poll(() => model.requests.length).toBe(1)
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  clock.increment(1)
  await expect.poll(() => seen.text).toBe('Half')
  await expect.poll(async () => (await run.info()).blocked).toMatch(/is locked/)
  other.exec('ROLLBACK')
  other.close()
  expect(await end).toMatchObject({ text: 'One, two, three.', shown: 'One, two, three.', restarts: 1 })
})
