/** The end of a stream that is under way: what is shown when, what is stored, and what readers near the end get. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { chunkWith } from '../../src/durable/chunks.ts'
import type { DurableChunk } from '../../src/durable/runs.ts'
import { ChunkLog, chunkFrom } from '../../src/durable/sqlite/ChunkLog.ts'
import { Items } from '../../src/durable/sqlite/Items.ts'
import { openStore, sqlite } from '../../src/durable/sqlite/sqlite.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import { storeFile } from './storeFile.ts'

const text = (output: string) => chunkWith({ output })
const message = (said: string) => chunkWith({ messages: [modelMessage(said)] })
const restart = chunkWith({ metadata: { restart: true } })
const end = chunkWith({ finishReason: 'stop' })
const nothing = { seq: 0, incarnation: 0, delivered: 0, isOpen: false }

/** A log of run 1 in a real file, and what the file has of it. */
const logged = async (tail = nothing, incarnation = 1) => {
  const { stream, file } = await openStore(sqlite(storeFile()))
  onTestFinished(() => file.close())
  const items = new Items()
  const log = new ChunkLog(items, tail, incarnation)
  return {
    log,
    items,
    stream,
    write: () => {
      log.writeTo(stream, 1)
      log.stored()
    },
    seen: (from = 0) => {
      const found: string[] = []
      for (let at = log.after(from); at; at = log.after(at.seq)) found.push(`${at.seq} ${at.chunk.output}`)
      return found
    },
  }
}

describe('a text', () => {
  test('is shown at once, and stored later', async () => {
    const { log, stream, write, seen } = await logged()
    expect([log.isStored, log.mustStore, log.after(0)]).toEqual([true, false, undefined])
    log.push(text('a'))
    log.push(text('b'))
    expect([log.isStored, log.mustStore]).toEqual([false, false])
    expect(seen()).toEqual(['1 a', '2 b'])
    expect(stream.after(1, 0)).toBeUndefined()
    write()
    expect([log.isStored, log.mustStore]).toEqual([true, false])
    expect(stream.after(1, 0)).toEqual({ seq: 2, incarnation: 1, chunks: [{ output: 'a' }, { output: 'b' }] })
    expect(seen()).toEqual(['1 a', '2 b'])
    expect(log.after(0)).toEqual({ seq: 1, incarnation: 1, chunk: text('a') })
    // Nothing new, nothing to write.
    write()
    expect(stream.after(1, 2)).toBeUndefined()
  })

  test('goes on from what another incarnation has stored', async () => {
    const { log, stream, write, seen } = await logged(
      { seq: 5, incarnation: 1, delivered: 2, isOpen: true },
      2,
    )
    log.push(text('f'))
    expect(seen(5)).toEqual(['6 f'])
    expect(log.after(6)).toBeUndefined()
    // Those before it are in the store.
    expect([0, 4].map((seq) => log.after(seq))).toEqual([undefined, undefined])
    write()
    expect(stream.tail(1)).toEqual({ seq: 6, incarnation: 2, delivered: 2, isOpen: true })
  })

  test('stays the same, whatever a reader does with it', async () => {
    const { log, stream, write } = await logged()
    log.push(chunkWith({ metadata: { sources: ['a'] } }))
    const first = log.after(0)
    if (first) first.chunk.metadata.sources = ['spoilt']
    expect(log.after(0)?.chunk).toEqual(chunkWith({ metadata: { sources: ['a'] } }))
    write()
    expect(stream.after(1, 0)?.chunks).toEqual([{ metadata: { sources: ['a'] } }])
  })
})

describe.each([
  ['a message', message('said')],
  ['an end', end],
])('%s', (_, chunk) => {
  test('is shown when it is stored, and so is what follows it', async () => {
    const { log, write, seen } = await logged()
    log.push(text('a'))
    log.push(chunk)
    log.push(text('b'))
    expect(log.mustStore).toBe(true)
    expect(seen()).toEqual(['1 a'])
    write()
    expect(log.mustStore).toBe(false)
    expect(seen()).toEqual(['1 a', '2 ', '3 b'])
    log.push(text('c'))
    expect(seen()).toEqual(['1 a', '2 ', '3 b', '4 c'])
  })
})

test.each([
  ['nothing', [], 0, false],
  ['a text', [text('a')], 0, true],
  ['thinking', [chunkWith({ metadata: { thinking: 'Hm.' } })], 0, true],
  ['a chunk that brings nothing', [chunkWith({})], 0, false],
  ['a text, and a chunk that brings nothing', [text('a'), chunkWith({})], 0, true],
  ['a text and its message', [text('a'), message('a')], 1, false],
  ['a text after a message', [message('a'), text('b')], 1, true],
  ['a text that was taken back', [text('a'), restart], 0, false],
  ['a text and the end', [text('a'), end], 0, false],
  ['two messages', [chunkWith({ messages: [userMessage('a'), modelMessage('b')] }), message('c')], 3, false],
])('after %s', async (_, chunks, delivered, isOpen) => {
  const { log, stream, write } = await logged()
  for (const chunk of chunks) log.push(chunk)
  expect(log.delivered).toBe(delivered)
  write()
  expect(stream.tail(1)).toEqual({ seq: chunks.length, incarnation: chunks.length && 1, delivered, isOpen })
})

test('the last 256 chunks are at hand, also when there were many', async () => {
  const { log, write } = await logged()
  const push = (from: number, to: number) => {
    for (let seq = from; seq <= to; seq += 1) log.push(text(String(seq)))
    write()
  }
  push(1, 512)
  expect([0, 511, 512].map((seq) => log.after(seq)?.chunk.output)).toEqual(['1', '512', undefined])
  push(513, 513)
  // The others are in the store.
  expect([0, 256, 257, 512].map((seq) => log.after(seq)?.chunk.output)).toEqual([
    undefined,
    undefined,
    '258',
    '513',
  ])
})

const whole: DurableChunk = {
  id: 'r1',
  output: 'a',
  messages: [modelMessage('a')],
  finishReason: 'toolCalls',
  rawFinishReason: 'tool_use',
  metadata: { thinking: 'Hm.', $m: 1 },
  usage: { inputTokens: 1 },
  pendingApproval: {
    calls: [{ type: 'toolCall', id: 'c', name: 'wipe', arguments: {}, kind: 'approval' }],
  },
}

describe('a chunk that was stored', () => {
  test.each([
    ['with everything', whole],
    ['with nothing', chunkWith({})],
    ['with a restart', restart],
    ['with an id alone', chunkWith({ id: 'r1' })],
  ])('is the same again: %s', async (_, chunk) => {
    const { log, stream, items, write } = await logged()
    log.push(chunk)
    write()
    expect(chunkFrom(stream.after(1, 0)?.chunks[0], items)).toEqual(chunk)
  })

  test('is as small as what it says', async () => {
    const { log, stream, write } = await logged()
    for (const chunk of [chunkWith({}), text('a'), end, restart, message('said')]) log.push(chunk)
    write()
    expect(stream.after(1, 0)?.chunks).toEqual([
      {},
      { output: 'a' },
      { finishReason: 'stop' },
      { metadata: { restart: true } },
      { messages: { $m: [[1, 0, 1]] } },
    ])
  })

  test('shares nothing with others', () => {
    const first = chunkFrom({}, new Items())
    first.metadata.spoilt = true
    first.messages.push(modelMessage('spoilt'))
    expect(chunkFrom({}, new Items())).toEqual(chunkWith({}))
  })

  test('is refused if it is not an object', () => {
    for (const stored of [5, [], null])
      expect(() => chunkFrom(stored, new Items())).toThrow('a chunk is not an object')
  })
})

test('a large message is written out once', async () => {
  const { log } = await logged()
  const large = 'x'.repeat(200_000)
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  log.push(message(large))
  const written = stringify.mock.results.filter(({ value }) => String(value).includes(large))
  expect(written).toHaveLength(1)
})
