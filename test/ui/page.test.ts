/** A page and the tools behind it: own data, shared state, a choice of agents, and the types of its messages. */
import { HttpAgent } from '@ag-ui/client'
import type { UIMessage } from 'ai'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import { tool } from '../../src/tools/tool.ts'
import {
  aguiHandler,
  type Page,
  type UiData,
  type UiMetadata,
  type UiTools,
  uiMessageHandler,
} from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { clientFor, lastTexts, settled, versions } from './chatClients.ts'
import { serve } from './serve.ts'

const seen: unknown[] = []
const show = tool({
  name: 'show',
  description: 'Shows',
  execute: (_, { context: { page } }: ToolContext<{ page: Page }>) => {
    page.sendData('weather', { celsius: 20 }, { id: 'w' })
    page.sendData('weather', { celsius: 21 }, { id: 'w' })
    page.sendData('note', 'gone', { transient: true })
    page.setState({ ...Object(page.body.state), shown: true })
    seen.push(page.body)
    return 'shown'
  },
})
const showing = () => scriptedModel([[{ toolCall: { id: 'c1', name: 'show' } }], 'Done.'])
const post = (body: JsonObject) =>
  new Request('http://localhost/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const asked = (text: string) => [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }]

describe('own data', () => {
  test.each(versions)('is a part of a page of ai %i', async (version) => {
    const handler = uiMessageHandler(new Agent(showing(), { tools: [show] }), {
      clientVersion: version,
      context: (_, __, page) => ({ page }),
    })
    const client = clientFor(version, { api: await serve(handler), id: 'chat-1' })
    await client.send('Show it')
    expect(client.error).toBeUndefined()
    const data = client.messages[1]?.parts.filter(({ type }) => /^data-(weather|note)/.test(type))
    expect(data).toMatchObject([{ type: 'data-weather', id: 'w', data: { celsius: 21 } }])
    expect(lastTexts(client)).toEqual(['Done.'])
  })

  test('cannot have a name that is used, and is not sent after the end', async () => {
    let page: Page | undefined
    const handler = uiMessageHandler(new Agent(scriptedModel(['Hi.'])), {
      context: (_, __, given) => {
        page = given
      },
    })
    await (await handler(post({ id: 'a', messages: asked('hi') }))).text()
    for (const name of ['state', 'a b', ''])
      expect(() => page?.sendData(name, 1)).toThrow('cannot be the name')
    page?.sendData('late', 1)
  })
})

describe('AG-UI', () => {
  test('shares state, context and forwardedProps with the tools, which change the state', async () => {
    const handler = aguiHandler(new Agent(showing(), { tools: [show] }), {
      context: (_, __, page) => ({ page }),
    })
    const agent = new HttpAgent({
      url: await serve(handler),
      initialState: { count: 1 },
      initialMessages: [{ id: 'u1', role: 'user', content: 'Show' }],
    })
    const custom: unknown[] = []
    agent.subscribe({ onCustomEvent: ({ event }) => void custom.push([event.name, event.value]) })
    const shared = { context: [{ description: 'The user', value: 'Ada' }], forwardedProps: { theme: 'dark' } }
    seen.length = 0
    await agent.runAgent(shared)
    expect(agent.state).toEqual({ count: 1, shown: true })
    expect(custom).toContainEqual(['weather', { celsius: 21 }])
    expect(seen).toMatchObject([{ state: { count: 1 }, ...shared }])
  })

  test.each(['an agent', 'stored runs'])('gives them to the tools of %s without any option', async (kind) => {
    const contexts: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks',
      execute: (_, { context }) => void contexts.push(context),
    })
    const made = new Agent(scriptedModel([[{ toolCall: { id: 'c1', name: 'look' } }], 'Done.']), {
      tools: [look],
    })
    const served = kind === 'an agent' ? made : await opened(storeFile(), { it: made })
    const agent = new HttpAgent({
      url: await serve(aguiHandler(served)),
      initialState: { count: 1 },
      initialMessages: [{ id: 'u1', role: 'user', content: 'Look' }],
    })
    await agent.runAgent({ forwardedProps: { theme: 'dark' } })
    expect(contexts).toEqual([{ state: { count: 1 }, context: [], forwardedProps: { theme: 'dark' } }])
  })
})

describe('a choice of agents', () => {
  const sent: string[] = []
  const sending = (name: string) =>
    new Agent(scriptedModel([[{ toolCall: { id: 'c1', name: 'send' } }], `${name} sent it.`]), {
      tools: [
        tool({
          name: 'send',
          description: 'Sends',
          needsApproval: true,
          execute: () => void sent.push(name),
        }),
      ],
    })

  test('is made for each request, and the agent that asks a question gets the answer', async () => {
    sent.length = 0
    const agents = [sending('first'), sending('second')]
    const [first, second] = agents
    // The page would choose another agent for each request.
    const handler = uiMessageHandler(() => agents.shift() ?? second ?? first ?? sending('none'))
    const client = clientFor(7, { api: await serve(handler), id: 'chat-1' })
    await client.send('Send it')
    await client.decide('send', 'c1', true)
    await settled(client)
    expect(client.error).toBeUndefined()
    expect(sent).toEqual(['first'])
    expect(lastTexts(client)).toEqual(['first sent it.'])
  })

  test('may depend on the body; a value that is not an agent is an error of the server', async () => {
    const errors: unknown[] = []
    const agents: Record<string, Agent> = {
      short: new Agent(scriptedModel(['Short.'])),
      long: new Agent(scriptedModel(['Long.'])),
    }
    const handler = uiMessageHandler((_, __, { model }) => agents[String(model)] as Agent, {
      onError: (error) => void errors.push(error),
    })
    const ask = async (model: string) =>
      (await handler(post({ id: 'a', messages: asked('hi'), model }))).text()
    expect(await ask('long')).toContain('Long.')
    expect(await ask('short')).toContain('Short.')
    expect(await ask('none')).toBe('Something went wrong.')
    expect(errors).toMatchObject([{ name: 'ConfigurationError' }])
  })

  test('is made for new stored chats', async () => {
    const agents = {
      short: new Agent(scriptedModel(['Short.', 'Again.'])),
      long: new Agent(scriptedModel(['Long.'])),
    }
    const runs = await opened(storeFile(), agents)
    const handler = uiMessageHandler(runs, { agent: (_, chatId) => (chatId === 'a' ? 'short' : 'long') })
    const ask = async (id: string) => (await handler(post({ id, messages: asked('hi') }))).text()
    expect(await ask('a')).toContain('Short.')
    expect(await ask('b')).toContain('Long.')
    expect(await ask('a')).toContain('Again.')
  })
})

test('the types of messages follow from the tools', () => {
  const weather = tool({
    name: 'get_weather',
    description: 'Weather',
    input: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, celsius: 21 }),
  })
  const place = tool({ name: 'get_place', description: 'Place' })
  const tools = [weather, place]
  type Message = UIMessage<UiMetadata, UiData, UiTools<typeof tools>>
  type Part = Message['parts'][number]
  type Weather = Extract<Part, { type: 'tool-get_weather'; state: 'output-available' }>
  expectTypeOf<Weather['input']>().toEqualTypeOf<{ city: string }>()
  expectTypeOf<Weather['output']>().toEqualTypeOf<{ city: string; celsius: number }>()
  expectTypeOf<Extract<Part, { type: 'data-state' }>['data']>().toEqualTypeOf<{ state: string }>()
  expectTypeOf<Extract<Part, { type: 'tool-get_place' }>['type']>().toEqualTypeOf<'tool-get_place'>()
  expect(new Agent(scriptedModel([]), { tools }).model.provider).toBe('scripted')
})
