/** A stored chat is a tree of runs: each turn builds on the messages of the one before, and none is copied. */
import { describe, expect, test } from 'vitest'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { numberIn, SqliteFile } from '../../src/durable/sqlite/SqliteFile.ts'
import { textOf } from '../../src/messages/messages.ts'
import { chatContract } from './chatContract.ts'
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

chatContract(async (agents) => opened(storeFile(), agents))

describe('a chat in a file', () => {
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

  test('is pruned with its last run if that is asked for, and then begins again', async () => {
    const path = storeFile()
    const { agent } = wiping(['A.', 'B.', 'C.', [callOf('c', 'b')], 'E.'])
    const runs = await opened(path, { agent })
    const [old, young, waiting] = [
      await runs.chat('old'),
      await runs.chat('young'),
      await runs.chat('waiting'),
    ]
    await (await old.send('a?')).result
    await (await old.send('b?')).result
    const fork = await old.fork({ id: 'fork', at: 2 })
    await (await fork.send('c?')).result
    await (await waiting.send('d?')).result
    await (await young.send('e?')).result
    const file = new SqliteFile(path, await findDriver())
    file.exec("UPDATE runs SET updated = 1 WHERE prompt IN ('a?', 'b?', 'd?')")
    const chats = () => file.all('SELECT id FROM chats ORDER BY id').map(({ id }) => id)
    expect(await runs.prune({ olderThan: new Date(2), chats: false })).toBe(1)
    expect(chats()).toEqual(['fork', 'old', 'waiting', 'young'])
    expect(await runs.prune({ olderThan: new Date(2), chats: true })).toBe(1)
    expect(chats()).toEqual(['fork', 'waiting', 'young'])
    file.close()
    // The messages that the fork shares are still there.
    expect(await textsOf(fork)).toEqual(['a?', 'A.', 'c?', 'C.'])
    await expect(old.history()).rejects.toThrow('There is no chat "old".')
    expect(await (await runs.chat('old')).history()).toEqual([])
    await expect(runs.prune({ olderThan: new Date(2), chats: 'yes' as never })).rejects.toThrow(/chats/)
  })
})
