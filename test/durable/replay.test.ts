/**
 * The process of a segment may end at any moment. Here it does so at each of them: a process that has the journal of that moment comes
 * to the same end, asks no model and runs no tool again, and shows its readers the same.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { z } from 'zod'
import type { SegmentEnd, SegmentStart } from '../../src/durable/index.ts'
import type { DurableChunk } from '../../src/durable/runs.ts'
import { Agent, type AgentOptions, tool } from '../../src/index.ts'
import type { ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { type EngineKind, type Journal, newJournal } from '../dbos/world/memoryEngine.ts'
import { leave, playSegment, started } from './replaying.ts'

// Records have the time at their end: a clock that does not move makes them equal.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type World = { journal: Journal; requests: ModelRequest[]; calls: string[] }

/** A scene: what the model says, turn by turn, and what happens when it is asked. */
type Scene = {
  turns: ScriptTurn[]
  options?: AgentOptions
  start?: Partial<SegmentStart>
  onAsked?: (nth: number, world: World) => void
  /** Commands that came before the segment begins. */
  before?: Journal
}

/** Plays a scene from a journal, in another process. */
const play = async (scene: Scene, journal: Journal, kind: EngineKind, onMoment?: () => void) => {
  const world: World = { journal, requests: [], calls: [] }
  const noting = (name: string, needsApproval = false) =>
    tool({
      name,
      description: name,
      needsApproval,
      input: z.object({ what: z.string() }),
      execute: async ({ what }) => {
        world.calls.push(what)
        return `noted ${what}`
      },
    })
  const external = tool({ name: 'ask', description: 'Asks a person' })
  const { turns, options, start, onAsked } = scene
  const model = {
    ...scriptedModel([]),
    stream: (request: ModelRequest, sink: ModelSink) => {
      // What it says follows from the conversation alone, in every process.
      const nth = request.messages.filter(({ role }) => role === 'model').length
      world.requests.push(structuredClone(request))
      onAsked?.(nth, world)
      return scriptedModel([turns[nth] ?? 'Nothing more is planned.']).stream(request, sink)
    },
  }
  const agent = new Agent(model, {
    tools: [noting('note'), noting('wipe', true), external],
    // The clock does not move: so even the snapshots are the same.
    clock: new SimulatedClock(),
    ...options,
  })
  const end = await playSegment(agent, {
    journal,
    kind,
    ...(start && { start }),
    ...(onMoment && { onMoment }),
  })
  return { end, ...world }
}

/** The text that a reader keeps of a stream: at a restart it discards the text since the last message. */
const kept = ({ stream }: Journal): DurableChunk[] => {
  const chunks: DurableChunk[] = []
  for (const chunk of stream.flat()) {
    if (chunk.metadata.restart === true) chunks.length = 1 + chunks.findLastIndex(isMessage)
    else chunks.push(chunk)
  }
  return chunks
}

const isMessage = ({ messages }: DurableChunk): boolean => messages.length > 0

const restarts = ({ stream }: Journal): number =>
  stream.flat().filter(({ metadata }) => metadata.restart === true).length

const isRecorded = ({ records }: Journal, name: (name: string) => boolean): number =>
  records.filter((record) => name(record.name) && record.value !== undefined).length

const isTurn = (name: string): boolean => name.includes('/turn ')
const isIntent = (name: string): boolean => name.endsWith(' intent')
const isResult = (name: string): boolean => name !== 'begin' && !isTurn(name) && !isIntent(name)

/** Calls that were begun, and have no result: replayCall.test.ts shows what happens to them. */
const inDoubt = (journal: Journal): number => isRecorded(journal, isIntent) - isRecorded(journal, isResult)

/** Plays a scene once, and then from the journal of each moment of it. Returns how it ended. */
const playFromEveryMoment = async (scene: Scene, kind: EngineKind = 'by name'): Promise<SegmentEnd> => {
  const journal = newJournal(scene.before && structuredClone(scene.before))
  const photos = new Map<string, Journal>()
  const photo = () => photos.set(JSON.stringify(journal), structuredClone(journal))
  photo()
  const first = await play(scene, journal, kind, photo)
  photo()
  let mended = 0
  for (const before of photos.values()) {
    if (inDoubt(before) > 0) continue
    const asked = isRecorded(before, isTurn)
    const called = isRecorded(before, isResult)
    const again = await play(scene, structuredClone(before), kind)
    expect(again.end).toEqual(first.end)
    expect(again.journal.records).toEqual(journal.records)
    expect(again.requests).toEqual(first.requests.slice(asked))
    expect(again.calls).toEqual(first.calls.slice(called))
    expect(kept(again.journal)).toEqual(kept(journal))
    mended += restarts(again.journal)
    // At most one answer was under way.
    expect(restarts(again.journal)).toBe(before.records[0]?.value && asked < first.requests.length ? 1 : 0)
  }
  expect(restarts(journal)).toBe(0)
  expect(mended).toBeGreaterThan(0)
  return first.end
}

const note = (what: string) => ({ toolCall: { name: 'note', arguments: { what } } })

test.each<EngineKind>(['by name', 'by place'])('answers, thoughts and calls (%s)', async (kind) => {
  const turns: ScriptTurn[] = [
    [{ thinking: 'Hm.' }, { text: 'Let ' }, { text: 'me see.' }, note('a'), note('b')],
    [{ metadata: { page: 1 } }, note('c')],
    [{ text: 'All ' }, { text: 'is done.' }, { usage: { inputTokens: 3 } }],
  ]
  const end = await playFromEveryMoment({ turns }, kind)
  expect(end).toMatchObject({ status: 'complete', output: { output: 'Let me see.\nAll is done.' }, seen: 0 })
})

test('a failure is kept', async () => {
  const turns: ScriptTurn[] = [[note('a')], [{ text: 'Half ' }, { error: { message: 'Overloaded' } }]]
  const end = await playFromEveryMoment({ turns, options: { retry: { maxRetries: 0 } } })
  expect(end).toMatchObject({ status: 'failed', output: { error: { message: 'Overloaded' } } })
})

test('commands that come while a model is asked', async () => {
  const onAsked = (nth: number, { journal }: World) => {
    if (nth === 0 && journal.commands.length === 0) leave(journal, { type: 'steer', text: 'Be brief.' })
    if (nth === 2 && journal.commands.length === 1) leave(journal, { type: 'abort', reason: 'Enough.' })
  }
  const turns: ScriptTurn[] = [[note('a')], [note('b')], 'Done.']
  const end = await playFromEveryMoment({ turns, onAsked })
  expect(end).toMatchObject({ status: 'aborted', output: { reason: 'Enough.' }, seen: 2 })
})

test('a wait for a person, and what comes after it', async () => {
  const turns: ScriptTurn[] = [
    [{ text: 'May I?' }, { toolCall: { id: 'c1', name: 'wipe', arguments: { what: 'a' } } }],
    [{ toolCall: { id: 'c2', name: 'ask', arguments: {} } }],
    'All is done.',
  ]
  const first = await playFromEveryMoment({ turns })
  if (first.status !== 'waiting') throw new Error(first.status)
  expect(first.result).toMatchObject({ output: 'May I?', pendingApproval: { calls: [{ id: 'c1' }] } })

  const before = newJournal()
  leave(before, { type: 'tool.approve', callId: 'c1' })
  const second = await playFromEveryMoment({
    turns,
    before,
    start: { from: { snapshot: first.snapshot }, seen: first.seen },
  })
  if (second.status !== 'waiting') throw new Error(second.status)
  expect(second).toMatchObject({ seen: 1, result: { pendingApproval: { calls: [{ id: 'c2' }] } } })

  leave(before, { type: 'tool.answer', callId: 'c2', result: 'Yes.' })
  const start: SegmentStart = { from: { snapshot: second.snapshot }, seen: second.seen }
  const last = await playFromEveryMoment({ turns, before, start })
  expect(last).toMatchObject({ status: 'complete', output: { output: 'May I?\nAll is done.' }, seen: 2 })
})

test('a segment that continues makes other ids than the one before it', async () => {
  const turns: ScriptTurn[] = [
    [{ toolCall: { name: 'wipe', arguments: { what: 'a' } } }],
    [note('b')],
    'Done.',
  ]
  const journal = newJournal()
  const { end } = await play({ turns }, journal, 'by name')
  if (end.status !== 'waiting') throw new Error(end.status)
  const [{ id: callId }] = end.result.pendingApproval.calls
  const next = newJournal(journal)
  leave(next, { type: 'tool.approve', callId })
  const start: SegmentStart = { ...started, from: { snapshot: end.snapshot } }
  const { end: last } = await play({ turns, start }, next, 'by name')
  const ids = ('output' in last ? last.output.messages : [])
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'toolCall' ? [part.id] : []))
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(2)
})
