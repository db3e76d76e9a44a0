import { describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { TimeoutError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { type OnExpired, tool } from '../../src/tools/tool.ts'
import type { OpenStore } from './chatContract.ts'

const call = (name: string, args = {}) => ({ toolCall: { id: name, name, arguments: args } })

const sleeper = (seconds: number, rest: ScriptTurn[] = ['Rested.']) =>
  new Agent(scriptedModel([[call('sleep', { seconds })], ...rest]), { tools: [sleepTool()] })

const waits = async (run: { info(): Promise<{ status: string }> }) =>
  vi.waitFor(async () => expect((await run.info()).status).toBe('waiting'), 60_000)

/** The meaning of time in every store, while no process has the run loaded. */
export const timeContract = (open: OpenStore): void => {
  describe('in time', () => {
    test('a run that sleeps waits for no person, and continues when its time has come', async () => {
      const runs = await open({ agent: sleeper(2) })
      const run = await runs.start('agent', 'Go')
      const texts: string[] = []
      const read = (async () => {
        for await (const { chunk } of run.stream()) texts.push(chunk.output)
      })()
      const { result } = run
      await waits(run)
      const { dueAt, pending, state } = await run.info()
      expect([pending, state]).toEqual([[], 'AwaitingTools'])
      expect(dueAt).toBeInstanceOf(Date)
      await vi.waitFor(async () => expect((await runs.health()).hosted).toBe(0), 60_000)
      const { status, output, messages } = await result
      expect([status, output]).toEqual(['complete', 'Rested.'])
      expect(messages.flatMap(toolResultsOf).map((each) => each.result)).toEqual([
        expect.stringContaining('Slept for 2 seconds.'),
      ])
      await read
      expect(texts.join('').trim()).toBe('Rested.')
      expect((await run.info()).dueAt).toBeUndefined()
    })

    test('a wake-up ends a sleep at its time, and its message is added once', async () => {
      const runs = await open({ agent: sleeper(36_000) })
      const run = await runs.start('agent', 'Go', { id: 'job' })
      await waits(run)
      const at = new Date(Date.now() + 500)
      for (const _ of [1, 2]) await runs.wake('job', { at, message: 'Good morning.', commandId: 'morning' })
      const { messages } = await run.result
      expect(messages.flatMap(toolResultsOf)[0]?.result).toMatch(/^Woken after/)
      expect(messages.map(textOf).filter((text) => text.includes('Good morning.'))).toHaveLength(1)
      await expect(runs.wake('job', { at })).rejects.toThrow(/is over/)
      await expect(runs.wake('none', { at })).rejects.toThrow('no run "none"')
    })

    test('a command that has come since keeps a run that waits from being pruned', async () => {
      const runs = await open({ agent: sleeper(36_000) })
      const run = await runs.start('agent', 'Go', { id: 'job' })
      await waits(run)
      const now = (await run.info()).updatedAt.getTime() + 1
      await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(now), 60_000)
      await runs.wake('job', { at: new Date(Date.now() + 3_600_000) })
      expect(await runs.prune({ olderThan: new Date(now), status: 'waiting' })).toBe(0)
      await vi.waitFor(async () => {
        expect(await runs.prune({ olderThan: new Date(), status: 'waiting' })).toBe(1)
      }, 60_000)
    })

    test.each([0, 20])('a wake-up that is due %i ms from now reaches a run that ends later', async (ms) => {
      let finish = () => {}
      const done = new Promise<void>((resolve) => {
        finish = resolve
      })
      const work = tool({ name: 'work', description: 'Works', execute: () => done })
      const script = [[call('work')], 'Done.', 'Good morning.']
      const runs = await open({ agent: new Agent(scriptedModel(script), { tools: [work] }) })
      const run = await runs.start('agent', 'Go', { id: 'job' })
      await vi.waitFor(async () => expect((await run.info()).state).toMatch(/^ToolExecution/), 60_000)
      const at = new Date(ms === 0 ? 0 : Date.now() + ms)
      await runs.wake('job', { at, message: 'Wake up.' })
      await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(at.getTime()))
      finish()
      expect((await run.result).messages.map(textOf).join()).toContain('Wake up.')
    })

    test.each<[OnExpired, RegExp | null, number]>([
      ['reject', /No person decided on this call in time/, 0],
      ['approve', /^wiped$/, 1],
      ['fail', null, 0],
    ])('a call without a decision expires: %s', async (onExpired, result, times) => {
      const wiped: string[] = []
      const wipe = tool({
        name: 'wipe',
        description: 'Wipes',
        needsApproval: true,
        expiresMs: 1000,
        onExpired,
        execute: (_, { idempotencyKey }) => {
          wiped.push(idempotencyKey)
          return 'wiped'
        },
      })
      const agent = new Agent(scriptedModel([[call('wipe')], 'Over.']), { tools: [wipe] })
      const runs = await open({ agent })
      const run = await runs.start('agent', 'Go')
      await vi.waitFor(
        async () => expect(['complete', 'failed']).toContain((await run.info()).status),
        60_000,
      )
      if (!result) await expect(run.result).rejects.toBeInstanceOf(TimeoutError)
      else expect((await run.result).messages.flatMap(toolResultsOf)[0]?.result).toMatch(result)
      expect(wiped).toHaveLength(times)
    })

    test('a decision before that counts, and the call runs once', async () => {
      let wiped = 0
      const wipe = tool({
        name: 'wipe',
        description: 'Wipes',
        needsApproval: true,
        expiresMs: 3_600_000,
        execute: () => {
          wiped += 1
        },
      })
      const runs = await open({
        agent: new Agent(scriptedModel([[call('wipe')], 'Over.']), { tools: [wipe] }),
      })
      const run = await runs.start('agent', 'Go', { id: 'job' })
      await waits(run)
      expect((await run.info()).pending[0]?.expiresAt).toBe((await run.info()).dueAt?.getTime())
      await runs.send('job', { type: 'tool.approve', callId: 'wipe' })
      await vi.waitFor(async () => expect((await run.info()).status).toBe('complete'), 60_000)
      expect(wiped).toBe(1)
    })
  })
}
