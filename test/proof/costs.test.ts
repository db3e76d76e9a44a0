/**
 * Each input from outside, in the shapes that cost most: twice the input is about twice the work, far from any limit.
 *
 * `npm run proof` takes many shapes; `PROOF_SEED` begins elsewhere.
 */
import { describe, expect, test } from 'vitest'
import * as dialects from '../../providers/wire/schemaDialects.ts'
import { Items } from '../../src/durable/sqlite/Items.ts'
import { pack, unpack } from '../../src/durable/sqlite/pack.ts'
import { Agent } from '../../src/index.ts'
import { resultContent } from '../../src/mcp/call.ts'
import { ToolList } from '../../src/mcp/ToolList.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { argumentCheck } from '../../src/tools/argumentCheck.ts'
import { readRunInput } from '../../src/ui/agui/readRequest.ts'
import { readChatRequest } from '../../src/ui/openai/readRequest.ts'
import { uiMessagesOf } from '../../src/ui/uiMessages/messages.ts'
import { readUiRequest } from '../../src/ui/uiMessages/readRequest.ts'
import {
  argumentsShape,
  eventShape,
  openaiShape,
  pageShape,
  range,
  resultShape,
  schemaShape,
  storedShape,
  threadShape,
} from './costShapes.ts'
import { isWhole, proofSeed } from './sample.ts'

const seeds = range(isWhole ? 60 : 2).map((index) => proofSeed * 1000 + index)

/** Work on an input of a size, which is made before the work is measured. */
type Work = (size: number) => () => unknown

const cpuMs = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The least that some runs of the same work take: what else the process does only adds to it. */
const leastMs = async (work: Work, size: number): Promise<number> => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round += 1) least = Math.min(least, await cpuMs(work(size)))
  return least
}

/** Work that is shorter is lost among the rest of the process. */
const measurableMs = 15
/** Four times the input takes four times as long, or 2.6 times 2.6 on a bad day; quadratic work takes sixteen times. */
const most = 2.6 * 2.6

const expectLinear = async (work: Work, { from = 200, upTo = 6400 } = {}): Promise<void> => {
  let size = from
  await work(size)()
  while (size < upTo && (await cpuMs(work(size))) < measurableMs) size *= 2
  const tries: string[] = []
  for (let round = 0; round < 3; round += 1) {
    const [one, four] = [await leastMs(work, size), await leastMs(work, 4 * size)]
    tries.push(`${size}: ${one.toFixed(1)} ms, ${4 * size}: ${four.toFixed(1)} ms`)
    if (four <= most * one + measurableMs) return
  }
  expect.fail(`It grows faster than its input. ${tries.join('; ')}`)
}

const callsOf = (ids: readonly string[], kind: PendingCall['kind'], args: JsonObject): PendingCall[] =>
  [...new Set(ids)].map((id) => ({
    ...{ type: 'toolCall', id, name: 'ask', arguments: args, kind, question: `question ${id}` },
  }))

/** Arguments that take long to compare. */
const longArguments: JsonObject = Object.fromEntries(range(500).map((index) => [`k${499 - index}`, index]))

describe.each(seeds)('seed %i', (seed) => {
  test('a schema of 256,000 characters is written and checked in a moment, or refused', async () => {
    const shape = schemaShape(seed)
    let size = 10
    while (size < 50_000 && JSON.stringify(shape(2 * size)).length < 256_000) size *= 2
    const written = Object.entries(dialects).filter(([, each]) => 'references' in each)
    for (const [name, dialect] of written) {
      if (!('references' in dialect)) continue
      const spent = await cpuMs(() => {
        try {
          toDialect(shape(size), dialect)
        } catch (error) {
          expect(String(error)).toMatch(/grows to more than|holds more than|nests deeper/)
        }
      })
      expect(spent, name).toBeLessThan(3000)
    }
    const spent = await cpuMs(() => {
      try {
        const { validate } = argumentCheck(shape(size))['~standard']
        for (const count of [1, 1000]) validate(argumentsShape(seed)(count))
      } catch (error) {
        expect(String(error)).toMatch(/holds more than|nests deeper/)
      }
    })
    expect(spent).toBeLessThan(6000)
  })

  test('arguments are checked in linear time', () => {
    const [schema, args] = [schemaShape(seed)(8), argumentsShape(seed)]
    const { validate } = argumentCheck(schema)['~standard']
    return expectLinear((size) => {
      const given = args(size)
      return () => validate(given)
    })
  })

  test.each(['approval', 'answer'] as const)('the body of a page is read in linear time, with %ss', (kind) =>
    expectLinear((size) => {
      const { messages, calls } = pageShape(seed)(size)
      const waiting = callsOf(calls, kind, longArguments)
      return () => {
        const read = readUiRequest({ messages })
        if ('decide' in read) read.decide(waiting)
      }
    }),
  )

  test.each(['approval', 'answer'] as const)('the input of AG-UI is read in linear time, with %ss', (kind) =>
    expectLinear((size) => {
      const { messages, calls } = threadShape(seed)(size)
      const waiting = callsOf(calls, kind, longArguments)
      const resume = calls.map((id) => ({
        interruptId: `question ${id}`,
        status: 'resolved',
        payload: { approved: true },
      }))
      return () => {
        const read = readRunInput({ threadId: 't', runId: 'r', messages, resume })
        if ('decide' in read) read.decide(waiting)
      }
    }),
  )

  test('the messages of a client of OpenAI are read in linear time', () =>
    expectLinear((size) => {
      const messages = openaiShape(seed)(size)
      return () => readChatRequest({ model: 'm', messages })
    }))

  test('the list of an MCP server is read in linear time', () => {
    const name = [(index: number) => `tool${index}`, (index: number) => `${'.'.repeat(70)}${index}`][seed % 2]
    const small = schemaShape(seed)(4)
    return expectLinear(
      (size) => {
        const list = new ToolList({}, { call: async () => ({}), app: async () => undefined })
        const listed = range(size).map((index) => ({ name: name?.(index), inputSchema: small }))
        return () => list.take(listed)
      },
      { from: 25, upTo: 200 },
    )
  })

  test('the result of an MCP server is read in linear time', () =>
    expectLinear((size) => {
      const answer = resultShape(seed)(size)
      return () => resultContent(answer)
    }))

  test('the events of a provider are read in linear time, in one read or in many', async () => {
    for (const isOneRead of [true, false])
      await expectLinear((size) => {
        const end = ['{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]']
        const events = [...eventShape(seed)(size), ...end].map((data) => `data: ${data}\n\n`)
        const reads = (isOneRead ? [events.join('')] : events).map((each) => new TextEncoder().encode(each))
        const fetch = async () =>
          new Response(ReadableStream.from(reads), { headers: { 'content-type': 'text/event-stream' } })
        const agent = new Agent('openrouter:m', { apiKey: 'key', connection: { fetch }, maxSteps: 1 })
        return () => agent.send('Go').catch(() => {})
      })
  })

  test('a stored row is written and read in linear time', () =>
    expectLinear((size) => {
      const messages = storedShape(seed)(size)
      return () => {
        const items = new Items()
        unpack(pack({ messages: structuredClone(messages) }, items), items)
      }
    }))
})

test('many parts under the id of one call are compared with it once', () =>
  expectLinear(
    (size) => {
      const args = Object.fromEntries(range(size).map((index) => [`k${size - index}`, index]))
      const part = { type: 'tool-ask', toolCallId: 'c', state: 'output-available', input: {}, output: 'yes' }
      const read = readUiRequest({ messages: [{ role: 'assistant', parts: range(size).map(() => part) }] })
      const calls = callsOf(['c'], 'answer', args)
      return () => 'decide' in read && read.decide(calls)
    },
    { upTo: 1600 },
  ))

test('many calls of one turn are shown again in linear time', () =>
  expectLinear((size) => {
    const calls = range(size).map((index) => ({ id: `c${index}`, name: 'ask' }))
    const history = [
      { role: 'user' as const, parts: [{ type: 'text' as const, text: 'Go' }] },
      {
        role: 'model' as const,
        parts: calls.map((call) => ({ type: 'toolCall' as const, ...call, arguments: {} })),
      },
      {
        role: 'user' as const,
        parts: calls.map((call) => ({ type: 'toolResult' as const, ...call, result: 'ok' })),
      },
    ]
    return () => uiMessagesOf(history)
  }))
