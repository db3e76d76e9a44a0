/** The budgets of SECURITY.md: each input from outside at its limit, one beyond it, and in time that grows with it. */
import { describe, expect, test } from 'vitest'
import * as dialects from '../../providers/wire/schemaDialects.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Items } from '../../src/durable/sqlite/Items.ts'
import { pack, unpack } from '../../src/durable/sqlite/pack.ts'
import { mcpTools } from '../../src/mcp/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { toolResultOf } from '../../src/tools/toolResult.ts'
import { Framing } from '../../src/transport/framing.ts'
import { defaultLimits } from '../../src/transport/limits.ts'
import { clientToolsFor } from '../../src/ui/AgentChats.ts'
import { readBody } from '../../src/ui/request.ts'
import { readUiRequest } from '../../src/ui/uiMessages/readRequest.ts'

const cpuMs = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Four times the input may take at most ten times as long: quadratic work takes sixteen times. */
const isLinear = (work: (size: number) => () => unknown, size: number): void => {
  const least = (of: number) => Math.min(...[1, 2, 3].map(() => cpuMs(work(of))))
  work(size)()
  const [one, two, four] = [least(size), least(2 * size), least(4 * size)]
  expect(four, `${one} ms, ${two} ms, ${four} ms`).toBeLessThan(10 * one + 40)
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

const members = (count: number, member: (index: number) => JsonObject): JsonObject =>
  Object.fromEntries(range(count).map((index) => [`p${index}`, member(index)]))

const nested = (levels: number, wrap: (inner: JsonObject, level: number) => JsonObject): JsonObject =>
  range(levels).reduce<JsonObject>((inner, level) => wrap(inner, level), { enum: range(20_000) })

describe('the schema of a tool', () => {
  /** The most expensive shapes that were found, each below the limit of 256,000 characters. */
  const shapes: Record<string, () => JsonObject> = {
    'values that all branches have': () => ({
      properties: { a: { enum: range(20_000), anyOf: range(3000).map((minimum) => ({ minimum })) } },
    }),
    'members that all branches have': () => ({
      properties: members(3000, (index) => ({ description: `about ${index}` })),
      anyOf: range(2000).map((index) => ({ required: [`p${index}`] })),
    }),
    'a description that all branches have': () => ({
      description: 'x'.repeat(90_000),
      properties: { x: { enum: range(15_000) } },
      anyOf: range(2000).map((minimum) => ({ properties: { x: { minimum } } })),
    }),
    'parts of one object': () => ({
      allOf: range(6000).map((index) => ({ properties: { [`q${index}`]: {} } })),
    }),
    'a long definition that is used often': () => ({
      $defs: { a: { description: 'x'.repeat(90_000) } },
      properties: members(2000, (index) => ({ $ref: '#/$defs/a', title: `t${index}` })),
    }),
    'references with one name': () => ({
      properties: members(3000, (index) => ({
        properties: { x: {} },
        $ref: `#/properties/p${index === 0 ? 1 : index - 1}/properties/x`,
      })),
    }),
    'tuples in tuples': () => ({
      properties: {
        a: nested(120, (inner, level) => ({ type: 'array', prefixItems: [inner, { const: level }] })),
      },
    }),
    'unions in unions': () => ({
      properties: {
        a: nested(60, (inner, level) => ({ anyOf: [{ properties: { a: inner } }, { const: level }] })),
      },
    }),
  }
  const all = Object.entries(dialects).flatMap(([name, each]) =>
    'references' in each ? [[name, each] as const] : [],
  )

  test.each(Object.keys(shapes))('is written or refused in a moment: %s', (shape) => {
    for (const [name, dialect] of all) {
      const schema = shapes[shape]?.() ?? {}
      let length = 0
      const spent = cpuMs(() => {
        try {
          length = JSON.stringify(toDialect(schema, dialect)).length
        } catch (error) {
          expect(String(error)).toMatch(/grows to more than \d+ characters/)
        }
      })
      expect(spent, name).toBeLessThan(3000)
      expect(length, name).toBeLessThan(1_000_000 + 8 * 256_000)
    }
  })

  test('of a client has 256,000 characters with all others, and not one more', () => {
    const agent = new Agent(scriptedModel([]))
    const of = (length: number) => [
      { name: 'a', description: '', parameters: { description: 'x'.repeat(length) } },
    ]
    const rest = JSON.stringify(of(0)).length
    expect(clientToolsFor(agent, of(256_000 - rest))).toHaveLength(1)
    expect(() => clientToolsFor(agent, of(256_001 - rest))).toThrow('more than 256000 characters')
  })

  test('is written in time that grows with it', () => {
    isLinear((size) => {
      const schema = {
        properties: members(size, (index) => ({ type: 'string', description: `about ${index}` })),
      }
      return () => toDialect(schema, { ...dialects.openaiDialect })
    }, 1000)
  })
})

describe('the list of an MCP server', () => {
  const listing = (tools: readonly object[]) => ({
    listTools: async () => ({ tools }),
    callTool: async () => ({}),
  })

  test('has schemas of 256,000 characters, and not one more', async () => {
    const rest = JSON.stringify({ description: '' }).length
    const of = (length: number) => ({
      name: `t${length}`,
      inputSchema: { description: 'x'.repeat(length - rest) },
    })
    const tools = await mcpTools(listing([of(256_000), of(256_001)]))
    expect(tools.map(({ name }) => name)).toEqual(['t256000'])
  })

  test('has 4 Mi characters, and not one more', async () => {
    const limit = 4 * 1024 * 1024
    const rest = JSON.stringify({ name: 'a', description: '' }).length
    const of = (length: number) => listing([{ name: 'a', description: 'x'.repeat(length - rest) }])
    expect(await mcpTools(of(limit))).toHaveLength(1)
    await expect(mcpTools(of(limit + 1))).rejects.toThrow('characters')
  })
})

describe('the result of an MCP call', () => {
  test('reaches the model up to 65,536 characters', () => {
    const call = { id: 'c1', name: 'read' }
    const lengthOf = (length: number) => toolResultOf(call, 'x'.repeat(length)).result
    expect(lengthOf(65_536)).toBe('x'.repeat(65_536))
    expect(lengthOf(65_537)).not.toBe('x'.repeat(65_537))
  })
})

describe('the conversation that a client sends', () => {
  const request = (length: number) => {
    const rest = JSON.stringify({ text: '' }).length
    return new Request('http://statewire.test', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(length - rest) }),
    })
  }

  test('has 4 MiB, and not one byte more', async () => {
    const limit = 4 * 1024 * 1024
    expect(Object.keys(await readBody(request(limit), limit))).toEqual(['text'])
    await expect(readBody(request(limit + 1), limit)).rejects.toThrow('larger than')
  })

  test('is read in time that grows with it', () => {
    isLinear((size) => {
      const messages = range(size).map((index) => ({
        id: `m${index}`,
        role: index % 2 === 0 ? 'user' : 'assistant',
        parts: [{ type: 'text', text: `Message ${index}` }],
      }))
      const last = { id: 'last', role: 'user', parts: [{ type: 'text', text: 'And?' }] }
      return () => readUiRequest({ messages: [...messages, last], trigger: 'submit-message' })
    }, 4000)
  })
})

describe('an event of a provider', () => {
  const limit = defaultLimits.maxEventSize
  const framed = (length: number, reads: number) => {
    const lengths: number[] = []
    const framing = new Framing({
      contentType: 'text/event-stream',
      maxEventSize: limit,
      secrets: [],
      onEvent: ({ data }) => void lengths.push(data.length),
    })
    const read = Buffer.from('x'.repeat(length / reads))
    let problem = framing.push(Buffer.from('data: '))
    for (let count = 0; count < reads; count += 1) problem ??= framing.push(read)
    problem ??= framing.push(Buffer.from('\n\n'))
    return { lengths, problem }
  }

  test('has 16 Mi characters, and no more', () => {
    expect(framed(limit - 64, 1)).toEqual({ lengths: [limit - 64], problem: undefined })
    expect(framed(limit + 1, 1).problem).toMatchObject({ code: 'event_too_large' })
  })

  test('is joined in time that grows with it', () => {
    isLinear((size) => () => framed(size * 100, size), 4000)
  })
})

describe('a stored row', () => {
  test('is written and read in time that grows with it, also where all messages are equal', () => {
    isLinear((size) => {
      const messages = range(size).map(() => ({ role: 'user', parts: [{ type: 'text', text: 'Yes?' }] }))
      return () => {
        const items = new Items()
        const copied = pack({ messages: structuredClone(messages) }, items)
        expect(pack({ messages: structuredClone(messages) }, items)).toBe(copied)
        unpack(copied, items)
        expect(items.fresh).toHaveLength(size)
      }
    }, 1000)
  })
})
