/** The engine runs on every XState from the oldest release that it promises to the one that is installed. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fromRegistry } from '../fromRegistry.ts'
import { Workshop } from './xstateCopy.ts'
import { oldest } from './xstateRange.ts'

let workshop: Workshop
beforeAll(async () => {
  workshop = await Workshop.open()
})
afterAll(() => workshop.close())

it(`runs report the same with XState ${oldest} and with the one that is installed`, async ({ skip }) => {
  const found = await fromRegistry('xstate', oldest)
  if ('problem' in found) {
    console.warn(found.problem)
    return skip(found.problem)
  }
  const newest = join(import.meta.dirname, '../../node_modules/xstate')
  const [before, now] = [await workshop.play(found.folder, oldest), await workshop.play(newest, 'installed')]
  expect(before.runs).toEqual(now.runs)
  expect(before.plain).toEqual(now.plain)
  expect([...before.uncaught, ...now.uncaught]).toEqual([])
}, 180_000)
