/** The stack of an error names the caller: an error that was made inside a socket's callback does not help. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { rejection } from '../engine/watching.ts'
import { loopback } from '../loopback.ts'
import { askingAgent, call, waitOf } from './askingAgent.ts'

const schema = z.object({ n: z.number() })
const failing = () => new Agent(scriptedModel([[{ text: 'Hal' }, { error: { message: 'boom' } }]]))

/** Asks in a function of this name, as a user would. */
const asked = async (ask: () => Promise<unknown>): Promise<ModelError> => {
  const theUsersOwnFunction = async () => {
    await ask()
  }
  return rejection(theUsersOwnFunction(), ModelError)
}

const ways: Record<string, (agent: Agent) => Promise<unknown>> = {
  send: async (agent) => await agent.send('Go'),
  sendFor: async (agent) => await agent.sendFor('Go', schema),
  'run.result': async (agent) => await agent.start('Go').result,
  'run.result with a schema': async (agent) => await agent.start('Go', { schema }).result,
  'chat.send': async (agent) => await new Chat(agent).send('Go'),
  'chat.sendFor': async (agent) => await new Chat(agent).sendFor('Go', schema),
}

test.each(Object.entries(ways))('%s', async (_, ask) => {
  expect((await asked(() => ask(failing()))).stack).toContain('theUsersOwnFunction')
})

test('run.result, read when the run has long failed', async () => {
  const run = failing().start('Go')
  await rejection(run.result, ModelError)
  expect((await asked(async () => await run.result)).stack).toContain('theUsersOwnFunction')
})

test('resume, of an agent and of a chat', async () => {
  const { agent } = askingAgent([[call('a')], [{ error: { message: 'boom' } }]])
  const pending = waitOf(await agent.send('Go'))
  expect((await asked(async () => await agent.resume(pending, { a: true }))).stack).toContain(
    'theUsersOwnFunction',
  )
  const chat = new Chat(askingAgent([[call('a')], [{ error: { message: 'boom' } }]]).agent)
  await chat.send('Go')
  expect((await asked(async () => await chat.resume({ a: true }))).stack).toContain('theUsersOwnFunction')
})

test.each(Object.entries(ways))('%s, of a request that a server refuses', async (_, ask) => {
  const { url } = await loopback(() => ({ status: 400, body: { error: { message: 'not like this' } } }))
  const agent = new Agent('openai:gpt-5-mini', { baseUrl: url, apiKey: 'key' })
  const error = await asked(() => ask(agent))
  expect(error).toMatchObject({ status: 400, message: expect.stringContaining('not like this') })
  expect(error.stack).toContain('theUsersOwnFunction')
})
