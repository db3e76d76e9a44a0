import { describe, expect, test } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import type { Agent } from '../../src/agent/Agent.ts'
import type { StoredRuns } from '../../src/durable/index.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { callOf, wiping } from './wiping.ts'

/** Opens a new store, and closes it when the test is over. */
export type OpenStore = (agents: Record<string, Agent>) => Promise<StoredRuns>

const textsOf = async (chat: { history(): Promise<Parameters<typeof textOf>[0][]> }) =>
  (await chat.history()).map(textOf)

/** The promises of chats in every store. */
export const chatContract = (open: OpenStore): void => {
  describe('a stored chat', () => {
    test('refuses a prompt while it answers, and while an answer waits', async () => {
      const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.', [{ hang: true }]])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      const run = await chat.send('Wipe b')
      await run.result
      expect(await chat.pending()).toMatchObject([{ id: 'c', kind: 'approval' }])
      expect(await (await chat.run())?.info()).toMatchObject({ status: 'waiting' })
      expect(await chat.history()).toEqual([])
      await expect(chat.send('Hello?')).rejects.toThrow(/waits for a decision/)
      await runs.send(run.id, { type: 'tool.approve', callId: 'c' })
      await run.result
      expect(wiped).toEqual(['b'])
      expect(await chat.history()).toHaveLength(4)
      const hanging = await chat.send('And now?')
      await expect(chat.send('Hello?')).rejects.toThrow(/is still answering/)
      await expect(chat.regenerate()).rejects.toThrow(/is still answering/)
      await runs.send(hanging.id, { type: 'abort' })
      await hanging.result.catch(() => {})
      // A prompt without any answer is dropped.
      expect(await chat.history()).toHaveLength(4)
    })

    test('takes a prompt once, also when it is sent again', async () => {
      const { agent, model } = wiping(['Hello.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      const [first, second] = [
        await chat.send('Hi', { id: 'turn-1' }),
        await chat.send('Hi', { id: 'turn-1' }),
      ]
      expect(await first.result).toEqual(await second.result)
      model.assertDone()
    })

    test('is not answered twice at the same moment', async () => {
      const { agent } = wiping(['One.', 'Two.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      const sends = await Promise.allSettled([chat.send('Hi'), chat.send('Hello')])
      expect(sends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      const refused = sends.find(({ status }) => status === 'rejected')
      expect(refused).toMatchObject({ reason: { message: expect.stringContaining('is still answering') } })
      // Nothing is left of the other one.
      expect(await runs.list()).toHaveLength(1)
    })

    test('keeps what a turn that failed or was aborted has reached', async () => {
      const { agent, wiped } = wiping([
        [callOf('c', 'a')],
        [{ error: { message: 'Gone.' } }],
        [{ error: { message: 'Gone.' } }],
        [{ text: 'Half an ans' }, { hang: true }],
        'Good.',
      ])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      await expect((await chat.send('Wipe a')).result).rejects.toThrow('Gone.')
      expect(wiped).toEqual(['a'])
      expect(await chat.history()).toHaveLength(4)
      await expect((await chat.send('Hello?')).result).rejects.toThrow('Gone.')
      expect(await chat.history()).toHaveLength(4)
      const cut = await chat.send('Tell me')
      for await (const { chunk } of cut.stream()) if (chunk.output !== '') break
      await runs.send(cut.id, { type: 'abort' })
      await cut.result.catch(() => {})
      expect((await textsOf(chat)).slice(4)).toEqual(['Tell me', 'Half an ans'])
      await (await chat.send('Go on')).result
      expect(validateHistory(await chat.history())).toEqual([])
    })

    test('is edited and regenerated into other branches, and the old ones stay', async () => {
      const { agent, model } = wiping(['A.', 'B.', 'A again.', 'C.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      const first = await chat.send('a?')
      await first.result
      const second = await chat.send('b?')
      await second.result
      const old = await chat.fork({ id: 'old' })
      await (await chat.edit(0, 'a, please?')).result
      expect(await textsOf(chat)).toEqual(['a, please?', 'A again.'])
      await (await chat.regenerate()).result
      expect(await textsOf(chat)).toEqual(['a, please?', 'C.'])
      expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
        ['a?'],
        ['a?', 'A.', 'b?'],
        ['a, please?'],
        ['a, please?'],
      ])
      expect(await textsOf(old)).toEqual(['a?', 'A.', 'b?', 'B.'])
      expect((await second.result).output).toBe('B.')
      await expect(chat.edit(1, 'x')).rejects.toThrow(/Message 1 .* is not a prompt/)
      await expect((await runs.chat('empty')).regenerate()).rejects.toThrow(/no answer yet/)
    })

    test('is forked at prompts and at its end, and nowhere else', async () => {
      const { agent } = wiping([[callOf('c', 'a')], 'Wiped.', 'B.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      expect(await textsOf(await chat.fork())).toEqual([])
      await (await chat.send('Wipe a')).result
      await (await chat.send('b?')).result
      const history = await chat.history()
      expect(history.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user', 'model'])
      for (const at of [0, 4, 6])
        expect(await (await chat.fork({ at })).history()).toEqual(history.slice(0, at))
      // 2 is the result of a tool.
      for (const at of [1, 2, 3, 5, 7, 8])
        await expect(chat.fork({ at })).rejects.toThrow(
          `The chat "one" cannot be forked at ${at}: give the index of a prompt, or leave it out.`,
        )
      for (const at of [-1, 1.5]) await expect(chat.fork({ at })).rejects.toThrow(/at must be a whole number/)
      await expect(chat.edit(2, 'x')).rejects.toThrow('Message 2 of the chat "one" is not a prompt')
      await expect(chat.edit(6, 'x')).rejects.toThrow('Message 6 of the chat "one" is not a prompt')
      await expect(chat.edit(-1, 'x')).rejects.toThrow(/index must be a whole number/)
      await expect(chat.fork({ id: 'a\nb' })).rejects.toThrow(/An id must be/)
    })

    test('has no part of an answer that a chart of several runs is still giving', async () => {
      const { agent } = wiping(['A draft.', [{ hang: true }]], { orchestrator: reflectionOrchestrator() })
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      const run = await chat.send('Write')
      for await (const { chunk } of run.stream())
        if (chunk.messages.some(({ role }) => role === 'model')) break
      expect(await chat.history()).toEqual([])
      await expect(chat.send('Hello?')).rejects.toThrow(/is still answering/)
    })

    test('is forked before an answer that is still being given', async () => {
      const { agent, model } = wiping(['A.', [{ hang: true }], 'C.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      await (await chat.send('a?')).result
      const hanging = await chat.send('b?')
      await expect.poll(() => model.requests.length).toBe(2)
      const fork = await chat.fork()
      expect([fork.agent, chat.agent]).toEqual(['agent', 'agent'])
      await expect(fork.send('c?')).rejects.toThrow(/is still answering/)
      await runs.send(hanging.id, { type: 'abort' })
      await hanging.result.catch(() => {})
      await (await fork.send('c?')).result
      expect(await textsOf(fork)).toEqual(['a?', 'A.', 'c?', 'C.'])
      expect(await textsOf(chat)).toEqual(['a?', 'A.'])
    })

    test('survives the pruning of its runs', async () => {
      const { agent } = wiping(['A.', 'B.', 'C.'])
      const runs = await open({ agent })
      const chat = await runs.chat('one')
      await (await chat.send('a?')).result
      await (await chat.send('b?')).result
      expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(1)
      expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.'])
      await (await chat.send('c?')).result
      expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.', 'c?', 'C.'])
    })

    test('keeps the run that has its messages', async () => {
      const runs = await open({ agent: wiping(['A.', 'B.']).agent })
      const chat = await runs.chat('one')
      const first = await chat.send('a?')
      await first.result
      const second = await chat.send('b?')
      await second.result
      await expect(runs.delete(second.id)).rejects.toThrow('is the end of the chat "one"')
      expect(await runs.delete(first.id)).toBe(true)
      expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.'])
      expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000), chats: true })).toBe(1)
      await expect(chat.history()).rejects.toThrow('There is no chat "one".')
    })

    test('knows who answers', async () => {
      const { agent } = wiping(['A.'])
      const runs = await open({ agent, other: wiping([]).agent })
      await expect(runs.chat('one')).rejects.toThrow('Say which agent answers: agent, other.')
      await expect(runs.chat('one', { agent: 'x' })).rejects.toThrow(/no agent "x"/)
      const chat = await runs.chat('one', { agent: 'agent' })
      expect((await (await chat.send('a?')).result).output).toBe('A.')
      expect((await runs.chat('one')).agent).toBe('agent')
      await expect(runs.chat('one', { agent: 'other' })).rejects.toThrow(/is answered by "agent"/)
      await expect(runs.chat('')).rejects.toThrow(/An id must be/)
    })
  })
}
