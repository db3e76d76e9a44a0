/** Runs that sleep, calls that expire and wake-ups, while no process has the run loaded. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { AgentOptions } from '../../src/agent/options.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { ConfigurationError, TimeoutError } from '../../src/messages/errors.ts'
import { type ChatMessage, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { type OnExpired, tool } from '../../src/tools/tool.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { timeContract } from './timeContract.ts'

timeContract(async (agents) => opened(storeFile(), agents))

const hourMs = 3_600_000

const call = (name: string, args = {}) => ({ toolCall: { id: name, name, arguments: args } })

const sleeper = (seconds: number, rest: ScriptTurn[] = ['Rested.']) => {
  const model = scriptedModel([[call('sleep', { seconds })], ...rest])
  return { model, agent: new Agent(model, { tools: [sleepTool()] }) }
}

const guard = (expiresMs: number, onExpired: OnExpired = 'reject', own: Partial<AgentOptions> = {}) => {
  const wiped: string[] = []
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes',
    needsApproval: true,
    expiresMs,
    onExpired,
    execute: (_, { idempotencyKey }) => void wiped.push(idempotencyKey),
  })
  const options = { tools: [wipe], ...own }
  return { wiped, agent: new Agent(scriptedModel([[call('wipe')], 'Over.']), options) }
}

const resultsOf = (messages: readonly ChatMessage[]) =>
  messages.flatMap(toolResultsOf).map(({ result }) => result)

/** Moves the clock on the wall, and leaves timers alone. */
const jumpTo = (time: number) => vi.useFakeTimers({ toFake: ['Date'], now: time })
afterEach(() => vi.useRealTimers())

const waits = async (run: { info(): Promise<{ status: string }> }) =>
  vi.waitFor(async () => expect((await run.info()).status).toBe('waiting'), 30_000)

describe('a run that sleeps', () => {
  test('is not in memory meanwhile, and continues when its time has come', async () => {
    const { agent } = sleeper(0.2)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const read = readAll(run)
    await vi.waitFor(async () => {
      const info = await run.info()
      if (info.status === 'waiting') expect((await runs.health()).hosted).toBe(0)
      expect(['waiting', 'complete']).toContain(info.status)
    }, 30_000)
    expect(await run.result).toMatchObject({ status: 'complete', output: 'Rested.' })
    expect((await read).texts).toEqual(['\nRested.'])
    expect((await read).chunks.filter(({ pendingApproval }) => pendingApproval)).toEqual([])
  })

  test('says until when, and waits for no person', async () => {
    const { agent } = sleeper(3600)
    const runs = await opened(storeFile(), { agent })
    const before = Date.now()
    const run = await runs.start('agent', 'Go')
    await waits(run)
    const { dueAt, pending, state } = await run.info()
    expect(pending).toEqual([])
    expect(state).toBe('AwaitingTools')
    expect(dueAt?.getTime()).toBeGreaterThanOrEqual(before + hourMs)
    expect(await runs.health()).toMatchObject({ waiting: 1, running: 0, hosted: 0 })
  })

  test('continues in the process that opens the store after its time', async () => {
    const path = storeFile()
    const first = sleeper(24 * 3600)
    const runs = await opened(path, { agent: first.agent })
    await waits(await runs.start('agent', 'Go', { id: 'job' }))
    await runs.close()
    jumpTo(Date.now() + 25 * hourMs)
    const later = await opened(path, {
      agent: new Agent(scriptedModel(['Rested.']), { tools: [sleepTool()] }),
    })
    const run = await later.get('job')
    const result = await run?.result
    expect(result).toMatchObject({ status: 'complete', output: 'Rested.' })
    expect(resultsOf(result?.messages ?? [])[0]).toContain('Slept for 86400 seconds.')
  })

  test('is woken once when the clock jumps back and forth', async () => {
    const path = storeFile()
    const { agent } = sleeper(3600)
    const start = Date.now()
    const runs = await opened(path, { agent })
    await waits(await runs.start('agent', 'Go', { id: 'job' }))
    await runs.close()
    const model = scriptedModel(['Rested.', 'Again?'])
    for (const time of [start + 2 * hourMs, start, start + 3 * hourMs]) {
      jumpTo(time)
      const again = await opened(path, { agent: new Agent(model, { tools: [sleepTool()] }) })
      await vi.waitFor(async () => {
        expect((await (await again.get('job'))?.info())?.status).toBe('complete')
      }, 30_000)
      await again.close()
    }
    expect(model.requests).toHaveLength(1)
  })

  test('costs a row: many of them hold nothing in memory', async () => {
    const count = 200
    const model = scriptedModel(Array.from({ length: count }, () => [call('sleep', { seconds: 3600 })]))
    const agent = new Agent(model, { tools: [sleepTool()] })
    const runs = await opened(storeFile(), { agent }, { synchronous: 'normal' })
    for (let index = 0; index < count; index += 1) await runs.start('agent', 'Go')
    await vi.waitFor(
      async () => expect(await runs.health()).toMatchObject({ hosted: 0, waiting: count, running: 0 }),
      60_000,
    )
  })
})

describe('a call that needs approval', () => {
  test('expires while the store is open', async () => {
    const { agent, wiped } = guard(50)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    const result = await vi.waitFor(async () => {
      const settled = await run.result
      expect(settled.status).toBe('complete')
      return settled
    }, 30_000)
    expect(resultsOf(result.messages)[0]).toContain('No person decided on this call in time')
    expect(wiped).toEqual([])
  })

  test.each(['reject', 'approve', 'fail'] as const)(
    'expires while no process runs: %s',
    async (onExpired) => {
      const path = storeFile()
      const { agent, wiped } = guard(hourMs, onExpired)
      const runs = await opened(path, { agent })
      const run = await runs.start('agent', 'Go', { id: 'job' })
      expect((await run.result).pendingApproval?.calls).toMatchObject([{ expiresAt: expect.any(Number) }])
      await runs.close()
      jumpTo(Date.now() + 2 * hourMs)
      const later = await opened(path, { agent })
      await vi.waitFor(async () => {
        expect((await (await later.get('job'))?.info())?.status).toBe(
          onExpired === 'fail' ? 'failed' : 'complete',
        )
      }, 30_000)
      expect(wiped).toHaveLength(onExpired === 'approve' ? 1 : 0)
      const end = (await later.get('job'))?.result
      if (onExpired === 'fail') await expect(end).rejects.toThrow(TimeoutError)
      else await end
      expect((await (await later.get('job'))?.info())?.dueAt).toBeUndefined()
    },
  )

  test('waits for longer than a timer of Node can', async () => {
    const { agent } = guard(2 ** 40)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go')
    expect((await run.result).status).toBe('waiting')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await run.info()).toMatchObject({ status: 'waiting' })
  })

  test('counts a decision that was acknowledged in time, although it is read too late', async () => {
    const path = storeFile()
    const { agent, wiped } = guard(hourMs)
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    await runs.close()
    const guest = await opened(path, {})
    await guest.send('job', { type: 'tool.approve', callId: 'wipe' })
    await guest.close()
    jumpTo(Date.now() + 2 * hourMs)
    const later = await opened(path, { agent })
    expect(await (await later.get('job'))?.result).toMatchObject({ status: 'complete' })
    expect(wiped).toHaveLength(1)
  })

  test('counts a decision of another process, stored a moment before, also if the run is in memory', async () => {
    const path = storeFile()
    const clock = new SimulatedClock()
    const { agent, wiped } = guard(1000, 'reject', { clock })
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await run.result
    const guest = await opened(path, {})
    await guest.send('job', { type: 'tool.approve', callId: 'wipe' })
    // Before this process looks for what others have written.
    clock.increment(1000)
    expect(resultsOf((await run.result).messages)).toEqual(['null'])
    expect(wiped).toHaveLength(1)
  })

  test('counts a decision of another process before that of onApproval', async () => {
    const path = storeFile()
    let allow = () => {}
    const onApproval = () =>
      new Promise<boolean>((resolve) => {
        allow = () => resolve(true)
      })
    const { agent, wiped } = guard(hourMs, 'reject', { onApproval })
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await vi.waitFor(async () => expect((await run.info()).pending).toHaveLength(1), 30_000)
    const guest = await opened(path, {})
    await guest.send('job', { type: 'tool.reject', callId: 'wipe' })
    allow()
    expect((await run.result).status).toBe('complete')
    expect(wiped).toEqual([])
  })

  test('of a sub-agent expires while no process runs', async () => {
    const path = storeFile()
    const inner = guard(hourMs, 'approve')
    const boss = () =>
      new Agent(scriptedModel([[call('helper', { prompt: 'Wipe.' })], 'All over.']), {
        tools: [inner.agent.asTool({ name: 'helper', description: 'Wipes' })],
      })
    const runs = await opened(path, { agent: boss() })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    expect((await runs.health()).hosted).toBe(0)
    await runs.close()
    jumpTo(Date.now() + 2 * hourMs)
    const last = new Agent(scriptedModel(['All over.']), {
      tools: [inner.agent.asTool({ name: 'helper', description: 'Wipes' })],
    })
    const later = await opened(path, { agent: last })
    await vi.waitFor(async () => {
      expect((await (await later.get('job'))?.info())?.status).toBe('complete')
    }, 30_000)
    expect(inner.wiped).toHaveLength(1)
  })
})

describe('runs.wake', () => {
  test('ends a sleep, with a message', async () => {
    const { agent, model } = sleeper(3600)
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await waits(run)
    await runs.wake('job', { at: new Date(), message: 'The build is green.' })
    expect(await run.result).toMatchObject({ output: 'Rested.' })
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: expect.stringContaining('Woken after') },
      { text: 'The build is green.' },
    ])
  })

  test('wakes at its time, once, however often it is sent, and a guest may send it', async () => {
    const path = storeFile()
    const { agent, model } = sleeper(3600)
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await waits(run)
    const guest = await opened(path, {})
    const at = new Date(Date.now() + 100)
    for (const store of [guest, runs, guest])
      await store.wake('job', { at, message: 'Up!', commandId: 'morning' })
    await expect(runs.wake('job', { at, message: 'Down!', commandId: 'morning' })).rejects.toThrow('morning')
    expect(await run.result).toMatchObject({ output: 'Rested.' })
    const texts = model.requests[1]?.messages.at(-1)?.parts.filter(({ type }) => type === 'text')
    expect(texts).toMatchObject([{ text: 'Up!' }])
  })

  test('is not lost when no process runs at its time', async () => {
    const path = storeFile()
    const { agent } = sleeper(24 * 3600)
    const runs = await opened(path, { agent })
    await waits(await runs.start('agent', 'Go', { id: 'job' }))
    await runs.wake('job', { at: new Date(Date.now() + hourMs) })
    await runs.close()
    jumpTo(Date.now() + 2 * hourMs)
    const last = new Agent(scriptedModel(['Rested.']), { tools: [sleepTool()] })
    const later = await opened(path, { agent: last })
    expect(await (await later.get('job'))?.result).toMatchObject({ output: 'Rested.' })
  })

  test('does not keep a run from its end', async () => {
    const runs = await opened(storeFile(), { agent: new Agent(scriptedModel([[{ text: 'Hi.' }]])) })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await runs.wake('job', { at: new Date(Date.now() + hourMs) }).catch(() => {})
    expect(await run.result).toMatchObject({ status: 'complete' })
  })

  test('is refused for a run that is over, or unknown, or at no time', async () => {
    const runs = await opened(storeFile(), { agent: new Agent(scriptedModel(['Hi.'])) })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    await expect(runs.wake('job', { at: new Date() })).rejects.toThrow(ConfigurationError)
    await expect(runs.wake('none', { at: new Date() })).rejects.toThrow('no run')
    await expect(runs.wake('job', { at: new Date('soon') })).rejects.toThrow(ConfigurationError)
    await expect(runs.wake('job', {} as never)).rejects.toThrow(ConfigurationError)
  })
})

test('the next due time is found in an index', async () => {
  const path = storeFile()
  await (await opened(path, {})).close()
  const file = (await findDriver())(path)
  for (const table of ['runs', 'commands']) {
    const [plan] = file
      .prepare(
        `EXPLAIN QUERY PLAN SELECT due FROM ${table} WHERE due > 5 AND due IS NOT NULL ORDER BY due LIMIT 1`,
      )
      .all() as [{ detail: string }]
    expect(plan.detail).toContain(`INDEX ${table}_by_due`)
  }
  file.close()
})
