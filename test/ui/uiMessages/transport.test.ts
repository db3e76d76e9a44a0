/** The chats of `ai` 5, 6 and 7 run on an agent in the same process, and their types fit. */
import type * as ai7 from 'ai'
import type * as ai5 from 'ai5'
import type * as ai6 from 'ai6'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { Agent } from '../../../src/agent/Agent.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { tool } from '../../../src/tools/tool.ts'
import { AgentChatTransport, type AgentChatTransportOptions } from '../../../src/ui/uiMessages/transport.ts'
import { callIn, clientFor, lastTexts, settled, versions } from '../chatClients.ts'

const sent: unknown[] = []
const send = tool({
  name: 'send',
  description: 'Sends',
  needsApproval: true,
  execute: (_, { context }) => {
    sent.push(context)
    return 'sent'
  },
})
const asking: ScriptTurn = [{ text: 'I ask.' }, { toolCall: { id: 'c1', name: 'send' } }]

test('an AgentChatTransport is a ChatTransport of every version', () => {
  expectTypeOf<AgentChatTransport<5>>().toExtend<ai5.ChatTransport<ai5.UIMessage>>()
  expectTypeOf<AgentChatTransport<6>>().toExtend<ai6.ChatTransport<ai6.UIMessage>>()
  expectTypeOf<AgentChatTransport>().toExtend<ai7.ChatTransport<ai7.UIMessage>>()
})

const transports = {
  5: (options: AgentChatTransportOptions) => new AgentChatTransport({ ...options, clientVersion: 5 }),
  6: (options: AgentChatTransportOptions) => new AgentChatTransport({ ...options, clientVersion: 6 }),
  7: (options: AgentChatTransportOptions) => new AgentChatTransport(options),
}

describe.each(versions)('ai %i', (version) => {
  const chat = (turns: ScriptTurn[]) => {
    sent.length = 0
    const model = scriptedModel(turns)
    const agent = new Agent(model, { tools: [send] })
    const options = { agent, context: (id: string) => ({ id }) }
    const transport = transports[version](options)
    return { model, client: clientFor(version, { transport, id: 'chat-1' }) }
  }

  test('asks, approves, and asks again', async () => {
    const { client } = chat([asking, 'Done.', 'Hello again.'])
    await client.send('Send it')
    expect(client.error).toBeUndefined()
    expect(sent).toEqual([])
    await client.decide('send', 'c1', true)
    await settled(client)
    expect(sent).toEqual([{ id: 'chat-1' }])
    expect(callIn(client, 'c1')).toMatchObject({ state: 'output-available', output: 'sent' })
    expect(lastTexts(client)).toEqual(['I ask.', 'Done.'])
    await client.send('Hello')
    expect(lastTexts(client)).toEqual(['Hello again.'])
    await client.resume()
    expect(client.status).toBe('ready')
  })

  test('stops', async () => {
    const { client, model } = chat([[{ text: 'Well' }, { hang: true }], 'Yes?'])
    const asked = client.send('Tell me everything')
    await expect.poll(() => lastTexts(client)).toEqual(['Well'])
    await client.stop()
    await asked
    await expect.poll(() => model.closed).toBe(1)
    await client.send('Stop!')
    expect(lastTexts(client)).toEqual(['Yes?'])
  })

  test('shows what went wrong', async () => {
    const { client } = chat([[{ error: { message: 'out of paper' } }]])
    await client.send('Print')
    expect([client.status, client.error?.message]).toEqual(['error', 'out of paper'])
  })
})

test('a transport without an agent is refused', () => {
  const make = (options: unknown) => () =>
    new AgentChatTransport(options as ConstructorParameters<typeof AgentChatTransport>[0])
  for (const wrong of [{}, { agent: {} }, undefined, { agent: 'openai:gpt' }])
    expect(make(wrong)).toThrow(ConfigurationError)
})
