/** A stored chat is a tree of runs: each turn builds on the messages of the one before, and none is copied. */
import { describe, expect, test } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { numberIn, SqliteFile } from '../../src/durable/sqlite/SqliteFile.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const items = async (path: string): Promise<number> => {
  const file = new SqliteFile(path, await findDriver())
  try {
    return numberIn(file.get('SELECT count(*) AS count FROM items') ?? {}, 'count')
  } finally {
    file.close()
  }
}

const textsOf = async (chat: { history(): Promise<Parameters<typeof textOf>[0][]> }) =>
  (await chat.history()).map(textOf)

describe('a stored chat', () => {
  test('goes on where it ended, also when it is opened again', async () => {
    const path = storeFile()
    const { agent, model } = wiping(['Hello Ada.', 'You are Ada.', 'Still Ada.'])
    const first = await opened(path, { agent })
    const chat = await first.chat('ada')
    expect(await chat.run()).toBeUndefined()
    await (await chat.send('I am Ada.')).result
    await (await chat.send('Who am I?')).result
    await first.close()
    const second = await opened(path, { agent })
    const again = await second.chat('ada')
    expect(again.agent).toBe('agent')
    await (await again.send('And now?')).result
    const said = ['I am Ada.', 'Hello Ada.', 'Who am I?', 'You are Ada.', 'And now?', 'Still Ada.']
    expect(await textsOf(again)).toEqual(said)
    expect(model.requests[2]?.messages.map(textOf)).toEqual(said.slice(0, 5))
    expect(await items(path)).toBe(6)
  })

  test('stores each message once, and a snapshot does not grow with the turns', async () => {
    const path = storeFile()
    const count = 60
    const { agent } = wiping(Array.from({ length: count }, (_, turn) => `Answer ${turn}.`))
    const runs = await opened(path, { agent }, { synchronous: 'normal' })
    const chat = await runs.chat('long')
    for (let turn = 0; turn < count; turn += 1) await (await chat.send(`Question ${turn}?`)).result
    expect(await chat.history()).toHaveLength(2 * count)
    expect(await items(path)).toBe(2 * count)
    const file = new SqliteFile(path, await findDriver())
    const sizes = file
      .all('SELECT length(head) AS size FROM runs ORDER BY n')
      .map((row) => numberIn(row, 'size'))
    file.close()
    expect((sizes.at(-1) ?? 0) - (sizes[1] ?? 0)).toBeLessThan(50)
  })

  test('refuses a prompt while it answers, and while an answer waits', async () => {
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.', [{ hang: true }]])
    const runs = await opened(storeFile(), { agent })
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
    const runs = await opened(storeFile(), { agent })
    const chat = await runs.chat('one')
    const [first, second] = [await chat.send('Hi', { id: 'turn-1' }), await chat.send('Hi', { id: 'turn-1' })]
    expect(await first.result).toEqual(await second.result)
    model.assertDone()
  })

  test('is not answered twice at the same moment', async () => {
    const { agent } = wiping(['One.', 'Two.'])
    const runs = await opened(storeFile(), { agent })
    const chat = await runs.chat('one')
    const sends = await Promise.allSettled([chat.send('Hi'), chat.send('Hello')])
    expect(sends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(sends[1]).toMatchObject({ reason: { message: expect.stringContaining('is still answering') } })
    // Nothing is left of the other one.
    expect((await runs.list()).map(({ prompt }) => prompt)).toEqual(['Hi'])
  })

  test('keeps what a turn that failed or was aborted has reached', async () => {
    const { agent, wiped } = wiping([
      [callOf('c', 'a')],
      [{ error: { message: 'Gone.' } }],
      [{ error: { message: 'Gone.' } }],
      [{ text: 'Half an ans' }, { hang: true }],
      'Good.',
    ])
    const runs = await opened(storeFile(), { agent })
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
    const path = storeFile()
    const { agent, model } = wiping(['A.', 'B.', 'A again.', 'C.'])
    const runs = await opened(path, { agent })
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

  test('is forked at any prompt; the fork and the chat go their own ways', async () => {
    const path = storeFile()
    const { agent } = wiping(['A.', 'B.', 'C.', 'D.'])
    const runs = await opened(path, { agent })
    const chat = await runs.chat('one')
    await (await chat.send('a?')).result
    await (await chat.send('b?')).result
    const before = await items(path)
    const fork = await chat.fork({ at: 2, id: 'two' })
    expect(await textsOf(fork)).toEqual(['a?', 'A.'])
    await (await fork.send('c?')).result
    await (await chat.send('d?')).result
    expect(await textsOf(fork)).toEqual(['a?', 'A.', 'c?', 'C.'])
    expect(await textsOf(await runs.chat('two'))).toEqual(['a?', 'A.', 'c?', 'C.'])
    expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.', 'd?', 'D.'])
    expect(await items(path)).toBe(before + 4)
    await expect(chat.fork({ id: 'two' })).rejects.toThrow('There is a chat "two" already.')
    for (const at of [1, 9, -1])
      await expect(chat.fork({ at })).rejects.toThrow(/cannot be forked at|at must be/)
    expect(await textsOf(await chat.fork({ at: 0 }))).toEqual([])
  })

  test('is forked at prompts and at its end, and nowhere else', async () => {
    const { agent } = wiping([[callOf('c', 'a')], 'Wiped.', 'B.'])
    const runs = await opened(storeFile(), { agent })
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
    const runs = await opened(storeFile(), { agent })
    const chat = await runs.chat('one')
    const run = await chat.send('Write')
    for await (const { chunk } of run.stream()) if (chunk.messages.some(({ role }) => role === 'model')) break
    expect(await chat.history()).toEqual([])
    await expect(chat.send('Hello?')).rejects.toThrow(/is still answering/)
  })

  test('is forked before an answer that is still being given', async () => {
    const { agent } = wiping(['A.', [{ hang: true }], 'C.'])
    const runs = await opened(storeFile(), { agent })
    const chat = await runs.chat('one')
    await (await chat.send('a?')).result
    const hanging = await chat.send('b?')
    const fork = await chat.fork()
    expect([fork.agent, chat.agent]).toEqual(['agent', 'agent'])
    await expect(fork.send('c?')).rejects.toThrow(/is still answering/)
    await runs.send(hanging.id, { type: 'abort' })
    await hanging.result.catch(() => {})
    await (await fork.send('c?')).result
    expect(await textsOf(fork)).toEqual(['a?', 'A.', 'c?', 'C.'])
    expect(await textsOf(chat)).toEqual(['a?', 'A.'])
  })

  test('lists its turns by what was asked, and gives their tools what goes with them', async () => {
    const path = storeFile()
    const seen: unknown[] = []
    const { agent } = wiping([[callOf('c', 'a')], 'A.', 'B.', 'C.', 'D.'])
    const context = (stored: unknown) => {
      seen.push(stored)
      return stored
    }
    const runs = await opened(path, { agent }, { context })
    const chat = await runs.chat('one')
    expect(await chat.pending()).toEqual([])
    await (await chat.send('a?', { id: 'first', context: { tenant: 4 } })).result
    await (
      await chat.send(
        [
          { type: 'text', text: 'b' },
          { type: 'text', text: '?' },
        ],
        { id: 'second' },
      )
    ).result
    await (await chat.regenerate({ id: 'third', context: null })).result
    await (await chat.edit(0, 'c?', { id: 'fourth', context: 5 })).result
    expect((await runs.list()).map(({ id, prompt }) => [id, prompt])).toEqual([
      ['fourth', 'c?'],
      ['third', 'b?'],
      ['second', 'b?'],
      ['first', 'a?'],
    ])
    expect(seen).toEqual([{ tenant: 4 }, undefined, null, 5])
    expect(await chat.pending()).toEqual([])
    // The first prompt was replaced: what came before it is not built on.
    expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(3)
    expect(await items(path)).toBe(2)
    const file = new SqliteFile(path, await findDriver())
    expect(file.all('SELECT id, base FROM runs')).toEqual([{ id: 'fourth', base: null }])
    file.close()
  })

  test('is stored with its first turn, so that reading chats stores nothing', async () => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping(['A.']).agent })
    const count = async () => {
      const file = new SqliteFile(path, await findDriver())
      const row = file.get('SELECT count(*) AS count FROM chats')
      file.close()
      return numberIn(row ?? {}, 'count')
    }
    const chats = await Promise.all(['one', 'two', 'three'].map((id) => runs.chat(id)))
    for (const chat of chats) {
      expect(await chat.history()).toEqual([])
      expect(await chat.run()).toBeUndefined()
      expect(await chat.pending()).toEqual([])
    }
    expect(await count()).toBe(0)
    await (await (await runs.chat('two')).send('a?')).result
    expect(await count()).toBe(1)
    expect(await chats[1]?.history()).toHaveLength(2)
  })

  test('of equal turns stores each message once', async () => {
    const path = storeFile()
    const turns = 12
    const { agent } = wiping(Array.from({ length: turns }, () => 'Yes.'))
    for (let turn = 1; turn <= turns; turn += 1) {
      const runs = await opened(path, { agent }, { synchronous: 'normal' })
      const chat = await runs.chat('same')
      await (await chat.send('Are you there?')).result
      expect(await chat.history()).toHaveLength(2 * turn)
      expect(await items(path)).toBeLessThanOrEqual(2 * turn)
      await runs.close()
    }
  })

  test('that was deleted says so', async () => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping(['A.']).agent })
    const chat = await runs.chat('one')
    await (await chat.send('a?')).result
    const file = new SqliteFile(path, await findDriver())
    file.exec('DELETE FROM chats')
    file.close()
    await expect(chat.history()).rejects.toThrow('There is no chat "one".')
  })

  test('survives the pruning of its runs', async () => {
    const { agent } = wiping(['A.', 'B.', 'C.'])
    const runs = await opened(storeFile(), { agent })
    const chat = await runs.chat('one')
    await (await chat.send('a?')).result
    await (await chat.send('b?')).result
    expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(1)
    expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.'])
    await (await chat.send('c?')).result
    expect(await textsOf(chat)).toEqual(['a?', 'A.', 'b?', 'B.', 'c?', 'C.'])
  })

  test('knows who answers', async () => {
    const { agent } = wiping(['A.'])
    const runs = await opened(storeFile(), { agent, other: wiping([]).agent })
    await expect(runs.chat('one')).rejects.toThrow('Say which agent answers: agent, other.')
    await expect(runs.chat('one', { agent: 'x' })).rejects.toThrow(/no agent "x"/)
    const chat = await runs.chat('one', { agent: 'agent' })
    expect((await (await chat.send('a?')).result).output).toBe('A.')
    expect((await runs.chat('one')).agent).toBe('agent')
    await expect(runs.chat('one', { agent: 'other' })).rejects.toThrow(/is answered by "agent"/)
    await expect(runs.chat('')).rejects.toThrow(/An id must be/)
  })
})
