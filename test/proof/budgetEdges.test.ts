/** The budgets of SECURITY.md that count something else than text, or that another room keeps: at the limit, one beyond, and at twice and four times of it. */
import { describe, expect, test } from 'vitest'
import { checkCommand } from '../../src/agent/commands.ts'
import { Agent } from '../../src/index.ts'
import { mcpHandler, mcpTools } from '../../src/mcp/index.ts'
import { readApp } from '../../src/mcp/sdk.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { argumentCheck } from '../../src/tools/argumentCheck.ts'
import { readChatRequest, readResponsesRequest } from '../../src/ui/openai/readRequest.ts'
import { readBody } from '../../src/ui/request.ts'

/** Input within a limit is taken; one more is refused, and so is twice and four times as much. */
const expectLimit = async (limit: number, take: (size: number) => unknown, refusal: string) => {
  await take(limit)
  for (const size of [limit + 1, 2 * limit, 4 * limit])
    await expect(async () => take(size), `${size}`).rejects.toThrow(refusal)
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const filled = (length: number, around: string): string => 'x'.repeat(length - around.length)
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('a client', () => {
  const format = (length: number) => {
    const schema = { description: filled(length, JSON.stringify({ description: '' })) }
    return { type: 'json_schema', schema, json_schema: { schema } }
  }
  const messages = [{ role: 'user', content: 'Hi' }]

  test('may ask for a shape of 64,000 characters in both forms', async () => {
    await expectLimit(
      64_000,
      (n) => readChatRequest({ model: 'm', messages, response_format: format(n) }),
      'more than 64000',
    )
    const input = 'Hi'
    await expectLimit(
      64_000,
      (n) => readResponsesRequest({ model: 'm', input, text: { format: format(n) } }, []),
      'more than 64000',
    )
  })

  test('may nest its body 256 levels deep', () => {
    const headers = { 'content-type': 'application/json' }
    const read = (levels: number) => {
      // The object around the lists is a level, too. What is short is not looked at.
      const body = `{"a":${nested(levels - 1)},"b":"${'x'.repeat(600)}"}`
      return readBody(new Request('http://statewire.test', { method: 'POST', headers, body }), 1_000_000)
    }
    return expectLimit(256, read, 'nests deeper than 256 levels')
  })

  test('may send a stored run a command of 16 Mi characters', () => {
    const rest = JSON.stringify({ type: 'steer', text: '' })
    return expectLimit(
      16 * 1024 * 1024,
      (n) => checkCommand({ type: 'steer', text: filled(n, rest) }, []),
      'characters',
    )
  })

  test('of mcpHandler may send 4 MiB, and 100 messages', async () => {
    const handler = mcpHandler({ ask: new Agent(scriptedModel([])) })
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const statusOf = async (body: string) =>
      (await handler(new Request('http://statewire.test/mcp', { method: 'POST', headers, body }))).status
    const ping = (id: number, pad = '') => ({
      jsonrpc: '2.0',
      id,
      method: 'ping',
      params: { _meta: { pad } },
    })
    const rest = JSON.stringify(ping(1))
    const take = async (n: number) => {
      const status = await statusOf(JSON.stringify(ping(1, filled(n, rest))))
      if (status >= 400) throw new Error(`refused with ${status}`)
    }
    await expectLimit(4 * 1024 * 1024, take, 'refused with 413')
    const takeMany = async (n: number) => {
      const status = await statusOf(JSON.stringify(range(n).map((id) => ping(id))))
      if (status >= 400) throw new Error(`refused with ${status}`)
    }
    await expectLimit(100, takeMany, 'refused with 4')
    await handler.close()
  })
})

describe('an MCP server', () => {
  const callTool = async () => ({})
  const tools = (count: number) => range(count).map((index) => ({ name: `t${index}`, inputSchema: {} }))

  test('may list its tools on 64 pages', () => {
    const listed = (count: number) => {
      let page = 0
      const listTools = async () => {
        page += 1
        return { tools: [], ...(page < count && { nextCursor: `${page}` }) }
      }
      return mcpTools({ listTools, callTool })
    }
    return expectLimit(64, listed, 'more than 64 pages')
  })

  test('may list 1,000 tools, with 16,000 characters of a description', async () => {
    const offered = async (count: number) =>
      mcpTools({ listTools: async () => ({ tools: tools(count) }), callTool })
    for (const count of [1000, 1001, 2000, 4000]) expect(await offered(count)).toHaveLength(1000)
    for (const length of [16_000, 16_001, 64_000]) {
      const listTools = async () => ({
        tools: [{ name: 'one', description: 'd'.repeat(length), inputSchema: {} }],
      })
      const [one] = await mcpTools({ listTools, callTool })
      expect(one?.description).toBe('d'.repeat(16_000))
    }
  })

  test('may send an app of 2 Mi characters', async () => {
    const appOf = (length: number) => {
      const contents = [{ uri: 'ui://app', text: 'x'.repeat(length) }]
      const listTools = async () => ({ tools: [] })
      return readApp({ listTools, callTool, readResource: async () => ({ contents }) }, 'ui://app')
    }
    const limit = 2 * 1024 * 1024
    expect(await appOf(limit)).toBeDefined()
    for (const length of [limit + 1, 2 * limit, 4 * limit]) expect(await appOf(length)).toBeUndefined()
  })

  test('has its arguments checked against 2,000 schemas of a tool', async () => {
    const isRefused = async (count: number) => {
      const properties = Object.fromEntries(range(count).map((index) => [`p${index}`, { type: 'string' }]))
      const { validate } = argumentCheck({ properties })['~standard']
      return 'issues' in (await validate({ [`p${count - 1}`]: 1 }))
    }
    // The object itself is a schema, too.
    expect([await isRefused(1999), await isRefused(2000), await isRefused(8000)]).toEqual([
      true,
      false,
      false,
    ])
  })
})
