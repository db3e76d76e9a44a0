import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, tool } from '../../src/index.ts'
import { loopback } from '../loopback.ts'

// Two thousand runs of every kind in one process, over sockets: afterwards there is nothing that was not there before.

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const heap = async (): Promise<number> => {
  // What a finished task still holds is free in the next one.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}

const chunk = (choice: object): string =>
  `data: ${JSON.stringify({ id: 'r', choices: [{ index: 0, ...choice }] })}\n\n`
const say = (text: string): string =>
  `${chunk({ delta: { content: text } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`
const call = `${chunk({ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'echo', arguments: '{"text":"a"}' } }] } })}${chunk({ delta: {}, finish_reason: 'tool_calls' })}data: [DONE]\n\n`

/** Answers by what was asked, and asks for the tool first where that is wanted. */
const answer = (asked: string) => {
  if (asked.includes('fail')) return { status: 400, body: { error: { message: 'no' } } }
  if (asked.includes('cut')) return { body: chunk({ delta: { content: 'half' } }) }
  if (asked.includes('typed')) return { body: say('{"n":1}') }
  return { body: asked.includes('tool') && !asked.includes('"role":"tool"') ? call : say('done') }
}

const echo = tool({
  name: 'echo',
  description: 'Says it again',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
})

test('two thousand runs leave no heap, no timer and no listener behind', async () => {
  const server = await loopback(({ body }) => answer(JSON.stringify(body)))
  const agent = new Agent('openai:m', { baseUrl: server.url, tools: [echo], retry: { maxRetries: 0 } })
  const Typed = z.object({ n: z.number() })
  const shared = new AbortController()
  const kinds: (() => Promise<unknown>)[] = [
    () => agent.send('plain', { signal: shared.signal }),
    () => agent.send('use the tool'),
    () => agent.send('fail').catch(() => {}),
    () => agent.send('cut').catch(() => {}),
    () => agent.sendFor('typed', Typed),
    () => agent.send('plain', { signal: AbortSignal.abort() }).catch(() => {}),
    async () => {
      for await (const each of agent.sendStream('plain')) if (each.output !== '') break
    },
  ]
  const runs = async (count: number): Promise<number> => {
    for (let run = 0; run < count; run += 1) {
      await kinds[run % kinds.length]?.()
      server.requests.length = 0
    }
    return heap()
  }
  await runs(500)
  const before = await runs(500)
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const after = await runs(1000)

  // A run that stayed would keep more than five kilobytes; what the engine holds itself goes up and down by half a megabyte.
  expect((after - before) / 1000).toBeLessThan(2000)
  expect(
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length,
  ).toBeLessThanOrEqual(timers)
}, 360_000)
