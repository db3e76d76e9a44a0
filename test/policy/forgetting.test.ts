/** A conversation never begins again with a fresh policy, whatever goes wrong. */
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { z } from 'zod'
import type { PolicyEvents, PolicyTag } from '../../machines/policy/policyEvents.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { call } from './refunds.ts'

const reader = (ran: string[], tainted = 'Tainted') => {
  const web = tool({ name: 'web', description: 'Reads a page', execute: () => ran.push('web') })
  const mail = tool({
    name: 'mail',
    description: 'Sends a mail',
    input: z.object({ to: z.string() }),
    execute: () => ran.push('mail'),
  })
  const tools = [web, mail] as const
  const taken = { actions: () => {} }
  const policy = setup({
    types: { events: {} as PolicyEvents<typeof tools>, tags: {} as PolicyTag },
    guards: {
      isFine: ({ event }) => {
        if (event.type === 'mail.call' && event.args.to === 'breaks') throw new Error('The guard is broken.')
        return true
      },
    },
  }).createMachine({
    initial: 'Clean',
    states: {
      Clean: { on: { 'web.call': taken, 'mail.call': taken, 'web.done': tainted } },
      [tainted]: { tags: 'approval', on: { 'web.call': taken, 'mail.call': { guard: 'isFine', ...taken } } },
    },
  })
  return { tools, policy }
}

const webTurn: ScriptTurn = [call('w', 'web', {})]
const mailTo = (to: string): ScriptTurn => [call('m', 'mail', { to })]

const talks = ['a chat', 'a stored chat'] as const
test.each(talks)('%s keeps the taint after its policy has broken', async (kind) => {
  const ran: string[] = []
  const model = scriptedModel([webTurn, mailTo('breaks'), mailTo('ada'), 'sent'])
  const agent = new Agent(model, reader(ran))
  const stored = async () => (await opened(storeFile(), { agent })).chat('c', { agent: 'agent' })
  const chat = kind === 'a chat' ? new Chat(agent) : await stored()
  const send = async (text: string) => {
    const sent = await chat.send(text)
    return 'result' in sent ? sent.result : sent
  }
  await expect(send('Read it and write')).rejects.toThrow('The guard is broken.')
  expect((await send('Write to Ada')).pendingApproval?.calls).toMatchObject([{ name: 'mail' }])
  expect(ran).toEqual(['web'])
})

test('a stored chat whose policy has lost its state stays refused, and keeps its messages', async () => {
  const ran: string[] = []
  const path = storeFile()
  const first = await opened(path, { agent: new Agent(scriptedModel([webTurn, 'read']), reader(ran)) })
  await (await (await first.chat('c', { agent: 'agent' })).send('Read it')).result
  await first.close()
  const renamed = reader(ran, 'Dirty')
  const runs = await opened(path, { agent: new Agent(scriptedModel([mailTo('ada'), 'sent']), renamed) })
  const chat = await runs.chat('c', { agent: 'agent' })
  for (const text of ['Write', 'Write again'])
    await expect((async () => (await chat.send(text)).result)()).rejects.toThrow(/cannot be continued/)
  expect(ran).toEqual(['web'])
  expect(JSON.stringify(await chat.history())).toContain('Read it')
})
