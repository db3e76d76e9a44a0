/**
 * Every row of the table of budgets in SECURITY.md, filled at random: taken at its limit, refused one beyond it, and refused
 * at twice and four times of it without more work. A row without a filling fails. Shapes that cost most are in `costs.test.ts`.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Items } from '../../src/durable/sqlite/Items.ts'
import { pack, unpack } from '../../src/durable/sqlite/pack.ts'
import { Agent } from '../../src/index.ts'
import { mcpHandler, mcpTools } from '../../src/mcp/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { toolResultOf } from '../../src/tools/toolResult.ts'
import { Framing } from '../../src/transport/framing.ts'
import { clientToolsFor } from '../../src/ui/AgentChats.ts'
import { readRunInput } from '../../src/ui/agui/readRequest.ts'
import { readChatRequest } from '../../src/ui/openai/readRequest.ts'
import { readBody } from '../../src/ui/request.ts'
import { readUiRequest } from '../../src/ui/uiMessages/readRequest.ts'
import { pageShape, range, resultShape, schemaShape, storedShape, threadShape } from './costShapes.ts'
import { type Dice, dice } from './dice.ts'
import { isWhole, proofSeed } from './sample.ts'

/** Takes an input of a size, or throws what it is refused with. */
type Taking = (size: number) => unknown

/** A row: its limit, a filling for a seed, and the words of its refusal; without them the rest is left out, and nothing refused. */
type Row = { limit: number; taking: (seed: number) => Taking; refusal?: string }

const sizeIn = { characters: (text: string) => text.length, bytes: (text: string) => Buffer.byteLength(text) }

/** Something of a shape as JSON, padded with text of any kind until it has exactly a size. */
const padded = <Made>(
  make: (pad: string) => Made,
  size: number,
  unit: keyof typeof sizeIn,
  { pick }: Dice,
): Made => {
  const of = (text: string) => sizeIn[unit](text)
  const rest = size - of(JSON.stringify(make('')))
  const word = pick(['é', '😀', '"', '\\', '\u2028', 'a b ', '\ud83d', '__proto__'])
  const each = of(JSON.stringify(word)) - 2
  const count = Math.max(0, Math.floor(rest / each))
  const made = make(word.repeat(count) + 'x'.repeat(Math.max(0, rest - count * each)))
  expect(of(JSON.stringify(made))).toBe(size)
  return made
}

const posted = (body: JsonObject) =>
  new Request('http://statewire.test/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  })

const mebi = 1024 * 1024
const agent = new Agent(scriptedModel([]))
const handler = mcpHandler({ ask: agent })
const user = { role: 'user', content: 'Hi' }

const rows: Readonly<Record<string, Row>> = {
  'tools of a client': {
    limit: 256_000,
    taking: (seed) => (size) => {
      const parameters = schemaShape(seed)(5)
      const make = (description: string) => [{ name: 'a', description, parameters }]
      return clientToolsFor(agent, padded(make, size, 'characters', dice(seed)))
    },
    refusal: 'more than 256000 characters',
  },
  'shape of an answer that a client asks for': {
    limit: 64_000,
    taking: (seed) => (size) => {
      const make = (title: string) => ({ ...schemaShape(seed)(5), title })
      const schema = padded(make, size, 'characters', dice(seed))
      const format = { type: 'json_schema', json_schema: { schema } }
      return readChatRequest({ model: 'm', messages: [user], response_format: format })
    },
    refusal: 'more than 64000 characters',
  },
  'decisions of a client': {
    limit: 4 * mebi,
    taking: (seed) => async (size) => {
      const { messages, calls } = pageShape(seed)(200)
      const body = padded((pad) => ({ messages, pad }), size, 'bytes', dice(seed))
      const read = readUiRequest(await readBody(posted(body), 4 * mebi))
      if (!('decide' in read)) throw new Error('It decides on nothing.')
      return read.decide(
        calls.map((id) => ({ type: 'toolCall', id, name: 'ask', arguments: {}, kind: 'answer' })),
      )
    },
    refusal: 'larger than',
  },
  'call of `mcpHandler`': {
    limit: 4 * mebi,
    taking: (seed) => async (size) => {
      const make = (pad: string) => ({ jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: { pad } } })
      const { status } = await handler(posted(padded(make, size, 'bytes', dice(seed))))
      if (status >= 400) throw new Error(`refused with ${status}`)
    },
    refusal: 'refused with 413',
  },
  'conversation of a client': {
    limit: 4 * mebi,
    taking: (seed) => async (size) => {
      const { messages } = threadShape(seed)(200)
      const make = (content: string) => ({
        threadId: 't',
        runId: 'r',
        messages: [...messages, { ...user, content }],
      })
      return readRunInput(await readBody(posted(padded(make, size, 'bytes', dice(seed))), 4 * mebi))
    },
    refusal: 'larger than',
  },
  'list of an MCP server': {
    limit: 4 * mebi,
    taking: (seed) => (size) => {
      const tools = range(50).map((index) => ({ name: `t${index}`, inputSchema: schemaShape(seed)(3) }))
      const make = (description: string) => ({ ...tools[0], name: 'padded', description })
      const rest = tools.reduce((sum, each) => sum + JSON.stringify(each).length, 0)
      const last = padded(make, size - rest, 'characters', dice(seed))
      return mcpTools({ listTools: async () => ({ tools: [...tools, last] }), callTool: async () => ({}) })
    },
    refusal: 'characters',
  },
  'result of an MCP call': {
    limit: 65_536,
    taking: (seed) => (size) => {
      const content = resultShape(seed)(3)
      const text = JSON.stringify(padded((pad) => ({ content, pad }), size, 'characters', dice(seed)))
      const { result } = toolResultOf({ id: 'c', name: 'read' }, text)
      // A notice says how much was left out.
      expect(result.length).toBeLessThan(65_536 + 200)
      expect(result === text).toBe(size <= 65_536)
    },
  },
  'event of a provider': {
    limit: mebi,
    taking: (seed) => (size) => {
      const data = 'x'.repeat(size)
      const framing = new Framing({
        contentType: 'text/event-stream',
        maxEventSize: mebi,
        secrets: [],
        onEvent: () => {},
      })
      const bytes = Buffer.from(`data: ${data}`.slice(0, size))
      const { below } = dice(seed)
      // Read in pieces of any size, as from a socket.
      for (let at = 0; at < bytes.length; ) {
        const next = at + 1 + below(200_000)
        const problem = framing.push(bytes.subarray(at, next))
        if (problem) throw new Error(problem.message)
        at = next
      }
    },
    refusal: 'characters',
  },
  'stored row': {
    limit: 2000,
    taking: (seed) => (size) => {
      const [items, messages] = [new Items(), storedShape(seed)(size)]
      expect(unpack(pack({ messages }, items), items)).toEqual({ messages })
    },
  },
}

test('each row of the table of SECURITY.md is filled here', () => {
  const table = readFileSync('SECURITY.md', 'utf8').split('## Budgets')[1]?.split('\n## ')[0] ?? ''
  const named = [...table.matchAll(/^\| ([^|]+?) \|/gm)].map(([, name]) => name).slice(1)
  expect(Object.keys(rows)).toEqual(named)
})

const cpuMs = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const seeds = range(isWhole ? 10 : 1).map((index) => proofSeed * 1000 + index)

test.each(Object.entries(rows))('%s', async (_, { limit, taking, refusal }) => {
  for (const seed of seeds) {
    const take = taking(seed)
    const spent = await cpuMs(() => take(limit))
    for (const size of [limit + 1, 2 * limit, 4 * limit]) {
      const more = await cpuMs(async () => {
        if (refusal === undefined) await take(size)
        else await expect(async () => take(size), `seed ${seed}: ${size}`).rejects.toThrow(refusal)
      })
      expect(more, `seed ${seed}: ${size} after ${spent} ms`).toBeLessThan(12 * spent + 500)
    }
  }
})
