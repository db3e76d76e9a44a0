/** Runs continue with another agent, in another release, and after a while in which no process had them. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { afterKill, opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

const noting = (name: string, ran: string[], options: { needsApproval?: boolean } = {}) =>
  tool({
    name,
    description: name,
    input: z.object({}),
    ...options,
    execute: () => {
      ran.push(name)
      return `did ${name}`
    },
  })

/** A store in which a run waits for the approval of a call. */
const waitingFor = async (name: string): Promise<string> => {
  const path = storeFile()
  const tools = [noting(name, [], { needsApproval: true })]
  const model = scriptedModel([[{ toolCall: { id: 'c', name } }]])
  const runs = await opened(path, { agent: new Agent(model, { tools }) })
  await (await runs.start('agent', 'Go', { id: 'job' })).result
  await runs.close()
  return path
}

describe('an agent that was changed while a run waited', () => {
  const ran: string[] = []
  const old = () => noting('old', ran, { needsApproval: true })
  test.each<[string, AgentOptions['tools'], RegExp]>([
    ['has another tool, too', [old(), noting('added', ran)], /did old/],
    ['has lost the tool', [], /no tool|not a tool|unknown|There is no/i],
    ['has the tool under another name', [noting('renamed', ran)], /renamed/],
  ])('%s: the run continues, and the model learns what happened', async (_, tools, result) => {
    const path = await waitingFor('old')
    const model = scriptedModel(['Done.'])
    const runs = await opened(path, { agent: new Agent(model, { tools: tools ?? [] }) })
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await (await runs.get('job'))?.result)?.output).toBe('Done.')
    const [found] = model.requests[0]?.messages.flatMap(toolResultsOf) ?? []
    expect(found?.result).toMatch(result)
  })

  test('has lost the fallback that was being asked: its first model is asked', async () => {
    const path = storeFile()
    const first = scriptedModel([[{ error: { message: 'Down.', status: 503, retryable: true } }]])
    const fallback = scriptedModel([[{ hang: true }]])
    const retry = { maxRetries: 0 }
    const runs = await opened(path, { agent: new Agent(first, { fallback: [fallback], retry }) })
    await runs.start('agent', 'Go', { id: 'job' })
    await expect.poll(() => fallback.requests.length).toBe(1)
    const model = scriptedModel(['Done.'])
    const again = await opened(afterKill(path), { agent: new Agent(model, { retry }) })
    expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
    model.assertDone()
  })

  test('has another model: that one answers', async () => {
    const path = await waitingFor('old')
    const other = { ...scriptedModel(['From elsewhere.']), provider: 'elsewhere', model: 'newest' }
    const runs = await opened(path, { agent: new Agent(other, { tools: [old()] }) })
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await (await runs.get('job'))?.result)?.output).toBe('From elsewhere.')
  })
})

test('time in which no process had the run does not count for its timeout', async () => {
  const path = storeFile()
  const timeouts = { totalMs: 3_600_000 }
  const { agent } = wiping([[callOf('c', 'a')], [{ hang: true }]], { timeouts })
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Go', { id: 'job' })
  await expect.poll(async () => (await run.info()).step).toBe(2)
  await runs.close()
  // As if it had been stopped two hours ago.
  const file = open(path)
  const past = 7_200_000
  const [row] = file.prepare('SELECT head, updated FROM runs').all() as [{ head: string; updated: number }]
  const head = row.head.replaceAll(/"deadlineAt":(\d+)/g, (_, at) => `"deadlineAt":${Number(at) - past}`)
  expect(head).not.toBe(row.head)
  file.prepare('UPDATE runs SET head = ?, updated = ?').run(head, row.updated - past)
  file.close()
  const again = await opened(path, { agent: wiping(['Done.'], { timeouts }).agent })
  expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
})
