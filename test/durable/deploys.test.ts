/** Runs continue with another agent, in another release, and after a while in which no process had them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
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

/** Stores that a release has left, with a run in every state. They are written once, and never changed. */
const releases = join(import.meta.dirname, 'releases')

describe.each(readdirSync(releases))('a store of release %s', (release) => {
  /** The agents of the store, in this release. Every request is answered, and no tool hangs. */
  const successors = (wiped: string[]) => {
    const wipe = tool({
      name: 'wipe',
      description: 'Wipes.',
      input: z.object({ file: z.string() }),
      needsApproval: true,
      execute: ({ file }) => {
        wiped.push(file)
        return `wiped ${file}`
      },
    })
    const slow = tool({ name: 'slow', description: 'Waits.', execute: () => 'waited' })
    const free = tool({ name: 'free', description: 'Works.', execute: () => 'worked' })
    const tools = [wipe, slow, free, tool({ name: 'ask', description: 'Asks a person.' })]
    const one = (options: AgentOptions = {}, answers = 3) =>
      new Agent(scriptedModel(Array.from({ length: answers }, () => 'Done.')), { tools, ...options })
    return {
      ...Object.fromEntries(
        ['requesting', 'streaming', 'backingOff', 'approval', 'decided', 'executing', 'answer'].map(
          (name) => [name, one({ retry: { maxRetries: 2, initialDelayMs: 1 } })],
        ),
      ),
      limit: one({ limits: { toolCalls: 1 }, atLimit: 'ask' }),
      crew: one({ tools: [one().asTool({ name: 'helper', description: 'Helps' })] }),
      phases: one({ orchestrator: reflectionOrchestrator({ maxRounds: 1 }) }),
      complete: one(),
    }
  }

  test('continues: every run comes to its end, and nothing runs that was not approved', async () => {
    const path = storeFile()
    const file = open(path)
    file.exec(readFileSync(join(releases, release), 'utf8'))
    file.close()
    const wiped: string[] = []
    const runs = await opened(path, successors(wiped))
    const all = await runs.list()
    expect(all.map(({ id }) => id)).toHaveLength(11)
    for (const { id, pending } of all)
      for (const { id: callId, kind } of pending)
        await runs.send(
          id,
          kind === 'answer'
            ? { type: 'tool.answer', callId, result: 'yes' }
            : { type: kind === 'limit' ? 'tool.approve' : 'tool.reject', callId },
        )
    for (const { id } of all) {
      const result = await (await runs.get(id))?.result
      expect([id, result?.finishReason, result?.pendingApproval]).toEqual([id, 'stop', undefined])
    }
    // One of two calls had been approved before.
    expect(wiped).toEqual(['b'])
    const executing = await (await runs.get('executing'))?.result
    expect(executing?.messages.flatMap(toolResultsOf)[0]?.result).toMatch(/effect is unknown/)
  })
})
