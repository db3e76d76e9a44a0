/** A stop is not a crash: what runs is stopped for good, and continues once in the next process. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { builtScript, Script } from './builtScript.ts'
import { afterKill, opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

/** A boss with a sub-agent that calls `first`, which ends when the test says so, and then `second`. */
const crew = () => {
  const ran: string[] = []
  let end = () => {}
  const isEnded = new Promise<void>((resolve) => {
    end = resolve
  })
  const input = z.object({})
  const first = tool({
    name: 'first',
    description: 'Waits.',
    input,
    execute: async () => {
      ran.push('first')
      await isEnded
      return 'waited'
    },
  })
  const second = tool({
    name: 'second',
    description: 'Works.',
    input,
    execute: () => void ran.push('second'),
  })
  const call = (id: string, name: string) => [{ toolCall: { id, name, arguments: {} } }]
  const helperModel = scriptedModel([call('c1', 'first'), call('c2', 'second'), 'Helped.'])
  const helper = new Agent(helperModel, { tools: [first, second] })
  const bossModel = scriptedModel([
    [{ toolCall: { id: 'a', name: 'helper', arguments: { prompt: 'Help.' } } }],
    'Done.',
  ])
  const boss = new Agent(bossModel, { tools: [helper.asTool({ name: 'helper', description: 'Helps' })] })
  return { boss, ran, helperModel, end: () => end() }
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 20))

test.each([
  ['closed', (runs: Awaited<ReturnType<typeof opened>>) => runs.close({ drain: 0 })],
  [
    'pruned',
    (runs: Awaited<ReturnType<typeof opened>>) =>
      runs.prune({ olderThan: new Date(Date.now() + 60_000), status: 'running' }),
  ],
])('a run that is %s while the tool of a sub-agent runs does nothing more', async (_, stop) => {
  const { boss, ran, helperModel, end } = crew()
  const runs = await opened(storeFile(), { boss })
  await runs.start('boss', 'Go', { id: 'job' })
  await expect.poll(() => ran).toEqual(['first'])
  await stop(runs)
  end()
  await tick()
  expect(ran).toEqual(['first'])
  expect(helperModel.requests).toHaveLength(1)
})

test('the request of a sub-agent is closed with the run', async () => {
  const model = scriptedModel([[{ hang: true }]])
  const helper = new Agent(model)
  const call = { toolCall: { id: 'a', name: 'helper', arguments: { prompt: 'Help.' } } }
  const boss = new Agent(scriptedModel([[call]]), {
    tools: [helper.asTool({ name: 'helper', description: 'Helps' })],
  })
  const runs = await opened(storeFile(), { boss })
  await runs.start('boss', 'Go', { id: 'job' })
  await expect.poll(() => model.requests.length).toBe(1)
  await runs.close()
  expect(model.closed).toBe(1)
})

describe('a store that is drained', () => {
  test('lets running tools end, stores their results, and begins nothing more', async () => {
    const path = storeFile()
    const { boss, ran, helperModel, end } = crew()
    const runs = await opened(path, { boss })
    await runs.start('boss', 'Go', { id: 'job' })
    await expect.poll(() => ran).toEqual(['first'])
    const closed = runs.close({ drain: 60_000 })
    await tick()
    // It still takes what is for the next process.
    await runs.start('boss', 'Later', { id: 'later' })
    await runs.send('job', { type: 'steer', text: 'Faster!' })
    end()
    await closed
    expect([ran, helperModel.requests.length]).toEqual([['first'], 1])
    const after = crew()
    await opened(path, { boss: after.boss }, { concurrency: 1 })
    await expect.poll(() => after.helperModel.requests.length).toBe(1)
    const [result] = after.helperModel.requests[0]?.messages.flatMap(toolResultsOf) ?? []
    expect(result).toMatchObject({ result: 'waited' })
    expect(after.ran).not.toContain('second')
  })

  test('starts no other call of the same turn, and leaves none in doubt', async () => {
    const path = storeFile()
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const wiped: string[] = []
    const wipe = tool({
      name: 'wipe',
      description: 'Wipes a file.',
      input: z.object({ file: z.string() }),
      execute: ({ file }) => {
        wiped.push(file)
        return `wiped ${file}`
      },
    })
    const slow = tool({ name: 'slow', description: 'Waits.', execute: () => ended.then(() => 'waited') })
    const model = scriptedModel([[{ toolCall: { id: 's', name: 'slow' } }, callOf('c1', 'a1')]])
    const tools = [slow, wipe]
    const runs = await opened(path, { agent: new Agent(model, { tools }) })
    await runs.start('agent', 'Go', { id: 'job' })
    await expect.poll(async () => (await (await runs.get('job'))?.info())?.state).toBe('ToolExecution')
    const closed = runs.close({ drain: 60_000 })
    await tick()
    end()
    await closed
    expect(wiped).toEqual([])
    const next = scriptedModel(['Done.'])
    const again = await opened(path, { agent: new Agent(next, { tools }) })
    expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
    expect(wiped).toEqual(['a1'])
    expect(next.requests[0]?.messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual([
      'waited',
      'wiped a1',
    ])
  })

  test('stops what does not end in time, and says that it is in doubt', async () => {
    const path = storeFile()
    const { boss, ran } = crew()
    const runs = await opened(path, { boss })
    await runs.start('boss', 'Go', { id: 'job' })
    await expect.poll(() => ran).toEqual(['first'])
    await runs.close({ drain: 1 })
    const after = crew()
    await opened(path, { boss: after.boss })
    await expect.poll(() => after.helperModel.requests.length).toBe(1)
    const [result] = after.helperModel.requests[0]?.messages.flatMap(toolResultsOf) ?? []
    expect(result?.result).toMatch(/effect is unknown|took effect is unknown/)
  })

  test.each([{ drain: -1 }, { drain: 'long' as never }, { wait: 5 } as never])(
    'refuses %o',
    async (options) => {
      const runs = await opened(storeFile(), { agent: wiping([]).agent })
      await expect(runs.close(options)).rejects.toThrow(/drain|cannot have/)
    },
  )
})

describe('a process that a deploy stops', () => {
  let script = ''
  beforeAll(async () => {
    script = await builtScript('stopProcess')
  })

  test('ends its tools and leaves nothing in doubt, in any of many deploys', async () => {
    const path = storeFile()
    for (let deploy = 0; deploy < 3; deploy += 1) {
      const worker = new Script(script, [path])
      await worker.line('working')
      worker.child.kill('SIGTERM')
      await worker.line('closed')
      await worker.ended
    }
    const last = new Script(script, [path])
    await last.line('done')
    await last.kill()
    expect(readFileSync(`${path}.log`, 'utf8')).toBe('work-0\nwork-1\nwork-2\n')
    const runs = await opened(path, {})
    const result = await (await runs.get('job'))?.result
    expect(result?.messages.flatMap(toolResultsOf).map((each) => each.result)).toEqual([
      'worked',
      'worked',
      'worked',
    ])
    expect(await (await runs.get('job'))?.info()).toMatchObject({ status: 'complete', recoveries: 0 })
  })
})

test('no more runs are under way than the process may have, and none is forgotten', async () => {
  const path = storeFile()
  const hanging = scriptedModel(Array.from({ length: 20 }, () => [{ hang: true }]))
  const first = await opened(path, { agent: new Agent(hanging) })
  for (let n = 0; n < 20; n += 1) await first.start('agent', 'Hi', { id: `job ${n}` })
  await first.close()
  let most = 0
  const turns = Array.from({ length: 21 }, () => [{ text: 'Do' }, { delayMs: 1 }, { text: 'ne.' }])
  const model = scriptedModel(turns)
  let underWay = 0
  const counted: ChatModel = {
    ...model,
    stream: (request, sink) => {
      underWay += 1
      most = Math.max(most, underWay)
      const end = () => {
        underWay -= 1
        sink.end()
      }
      return model.stream(request, { ...sink, end })
    },
  }
  const runs = await opened(path, { agent: new Agent(counted) }, { concurrency: 3 })
  const late = await runs.start('agent', 'Hi', { id: 'late' })
  for (let n = 0; n < 20; n += 1) {
    const result = await (await runs.get(`job ${n}`))?.result
    expect(result?.output).toBe('Done.')
  }
  expect((await late.result).output).toBe('Done.')
  expect(most).toBe(3)
})

test('an orchestrator that is restored takes the end of its phase once', async () => {
  const path = storeFile()
  const orchestrator = reflectionOrchestrator({ maxRounds: 1 })
  // The draft may take one step, so a restored draft ends at once: the effect of its call is unknown.
  const last = tool({ name: 'last', description: 'Hangs.', execute: () => new Promise(() => {}) })
  const options = { orchestrator, tools: [last], maxSteps: 1 }
  const model = scriptedModel([[{ text: 'Draft.' }, { toolCall: { id: 'c', name: 'last' } }]])
  const runs = await opened(path, { agent: new Agent(model, options) })
  const run = await runs.start('agent', 'Go', { id: 'job' })
  await expect.poll(async () => (await run.info()).step).toBe(1)
  const rest = scriptedModel(['Critique.', 'Better.'])
  const again = await opened(afterKill(path), { agent: new Agent(rest, options) })
  const found = await again.get('job')
  const result = await found?.result
  const shown: unknown[] = []
  for await (const { chunk } of found?.stream() ?? []) shown.push(...chunk.messages)
  expect(result?.messages).toEqual(shown)
  expect(result?.messages.map(({ role }) => role).join(' ')).toBe(
    'user model user model user model user model',
  )
  expect(result?.output).toBe('Better.')
})
