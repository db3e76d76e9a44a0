import { describe, expect, test } from 'vitest'
import { idle } from '../engine/watching.ts'
import { wires } from '../hostile/hostileRun.ts'
import type { Wire } from '../hostile/wire.ts'
import {
  type End,
  expectNothingUnhandled,
  type Interruption,
  interruptions,
  Moments,
  runnerOf,
} from './interrupting.ts'
import { expectNothingLeft, farewell, loopServer, prompt, timers, toolLoop } from './toolLoop.ts'

/**
 * A tool loop over a real socket is interrupted at every event that an inspector sees of it, in every way there is. It
 * must have one end, nothing of it may be left, and the next run must work.
 */
expectNothingUnhandled()

const variants = [
  { toolExecution: 'sequential', heedsSignal: true },
  { toolExecution: 'parallel', heedsSignal: false },
  { toolExecution: 'sequential', heedsSignal: false },
  { toolExecution: 'parallel', heedsSignal: true },
] as const

const ways = Object.values(interruptions)

const interruptible = async (wire: Wire) => {
  const server = await loopServer(wire)
  const moments = new Moments()
  const loops = variants.map(({ toolExecution, heedsSignal }) =>
    toolLoop(server, wire, heedsSignal, { toolExecution, inspect: moments.tick }),
  )
  /** How many moments an undisturbed run has. */
  let length = 0
  for (const { agent } of loops) {
    moments.at(-1)
    expect((await agent.send(prompt)).output).toContain(farewell)
    length = Math.max(length, moments.seen)
  }
  await idle()
  const before = timers()

  const interrupt = async (way: Interruption | undefined, moment: number, variant: number): Promise<End> => {
    const loop = loops[variant % loops.length]
    if (!loop || !way) throw new Error('There is no such loop, or no such way.')
    const controller = new AbortController()
    const end = await way(runnerOf(loop.agent), prompt, (act) => moments.at(moment, act), controller)
    await loop.weather.expectSignalled()
    await expectNothingLeft(server, controller.signal, before)
    const asked = server.requests.length
    expect((await loop.agent.send('Hello')).output).toBe(farewell)
    expect(server.requests).toHaveLength(asked + 1)
    return end
  }
  return { length, interrupt }
}

describe('a tool loop that is interrupted has one end and leaves nothing', () => {
  test.each(wires)('at any event, on $model', { timeout: 600_000 }, async (wire) => {
    const { length, interrupt } = await interruptible(wire)
    expect(length).toBeGreaterThan(150)
    const nth = wires.indexOf(wire)
    // Every event on the first wire; on the others a third of them, each wire another one.
    const step = nth === 0 ? 1 : 3
    const ends = new Map<End, number>()
    for (let moment = nth % step; moment < length; moment += step) {
      const end = await interrupt(ways[(moment + nth) % ways.length], moment, Math.floor(moment / 3))
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
    // Only the last events belong to a run that is already over.
    expect(ends.get('Aborted')).toBeGreaterThan(20)
    expect(ends.get('left')).toBeGreaterThan(20)
    expect(ends.get('Complete') ?? 0).toBeLessThan(20)
    expect(ends.has('Failed')).toBe(false)
  })

  test.each(Object.entries(interruptions))('by %s, in every state', { timeout: 600_000 }, async (_, way) => {
    const [wire] = wires
    if (!wire) throw new Error('There are no wires.')
    const { length, interrupt } = await interruptible(wire)
    for (let moment = 0; moment < length; moment += 19) await interrupt(way, moment, moment)
  })
})
