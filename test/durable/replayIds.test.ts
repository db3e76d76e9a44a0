import { expect, test } from 'vitest'
import { durableChunk } from '../../src/durable/chunks.ts'
import { replayIds } from '../../src/durable/replay/replaySteps.ts'

const from = { input: { prompt: 'Hi', id: 'run' } }

test('the ids of a segment stay the same, also in a later release: a segment may outlive an update', () => {
  const newId = replayIds(from)
  expect([newId('run'), newId('run'), newId('run/helper'), newId('run')]).toEqual([
    'fa6089af-5ac9-8418-948b-d36710db28cd',
    'd9cfa132-18d1-8e2b-86e8-0538ee3028a2',
    '9f4bff5a-bf5a-8c57-95ee-c8ac09aa1765',
    '3db8f994-847a-8db3-a95a-9925e444c605',
  ])
})

test('each run counts for itself, so runs side by side may ask in any order', () => {
  const [one, other] = [replayIds(from), replayIds(from)]
  const first = [one('a'), one('a'), one('b')]
  const second = [other('b'), other('a'), other('a')]
  expect([second[1], second[2], second[0]]).toEqual(first)
})

test('another start makes other ids, and every id is a UUID of version 8', () => {
  const starts = [from, { input: { prompt: 'Hi', id: 'run2' } }, { input: { prompt: 'Ho', id: 'run' } }]
  const ids = starts.flatMap((start) => {
    const newId = replayIds(start)
    return Array.from({ length: 100 }, (_, nth) => newId(nth % 2 === 0 ? 'run' : 'run/helper'))
  })
  expect(new Set(ids).size).toBe(300)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids.map((id) => id[19]))).toEqual(new Set(['8', '9', 'a', 'b']))
})

test('a chunk is stored as readers get it, without the snapshot of a wait', () => {
  const chunk = { id: 'r', output: 'Hi', messages: [], finishReason: 'stop' as const, metadata: { a: 1 } }
  const calls = [{ type: 'toolCall' as const, id: 'c', name: 'n', arguments: {}, kind: 'approval' as const }]
  const snapshot = { status: 'active' as const, output: undefined, error: undefined }
  expect(durableChunk({ type: 'chunk', ...chunk, pendingApproval: { calls, snapshot } as never })).toEqual(
    chunk,
  )
})
