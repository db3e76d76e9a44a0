/**
 * A process may die before and after every record and every write: the process that continues comes to the same end, runs no tool twice
 * that must not, and shows every reader the right text.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { SegmentEnd, SegmentStart } from '../../src/durable/replay/engine.ts'
import { replaySegment } from '../../src/durable/replay/replaySegment.ts'
import { Agent, reasoningOrchestrator, sleepTool, tool } from '../../src/index.ts'
import { type ChatMessage, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import {
  type EngineKind,
  type Journal,
  memoryEngine,
  newIncarnation,
  newJournal,
} from './world/memoryEngine.ts'
import { type PlannedTurn, promptOf } from './world/plan.ts'
import { planModel } from './world/planModel.ts'

/** Starts of each tool, by its input. */
type Begun = Map<string, number>

type NotingOptions = Pick<
  Parameters<typeof tool>[0],
  'needsApproval' | 'endsRun' | 'onInterrupted' | 'expiresMs' | 'onExpired'
>

const agentsFor = (begun: Begun) => {
  const noting = (name: string, options: NotingOptions = {}) =>
    tool({
      name,
      description: name,
      input: z.object({ what: z.string(), ms: z.number().optional() }),
      ...options,
      execute: async ({ what, ms = 0 }, { attempt }) => {
        begun.set(what, (begun.get(what) ?? 0) + 1)
        await sleep(ms)
        return `noted ${what}${attempt > 1 ? ' again' : ''}`
      },
    })
  const tools = [
    noting('note'),
    noting('again', { onInterrupted: 'rerun' }),
    noting('doubt', { onInterrupted: 'ask' }),
    noting('wipe', { needsApproval: true }),
    noting('finish', { endsRun: true }),
    noting('expiring', { needsApproval: true, expiresMs: 15, onExpired: 'approve' }),
    sleepTool(),
  ]
  const helper = new Agent(planModel(), { tools })
  const all = [...tools, helper.asTool({ name: 'ask_helper', description: 'Asks the helper' })]
  return {
    one: new Agent(planModel(), { tools: all }),
    side: new Agent(planModel(), { tools: all, toolExecution: 'parallel' }),
    thinker: new Agent(planModel(), { tools, orchestrator: reasoningOrchestrator() }),
  }
}

const call = (name: string, what: string, ms?: number) => ({ name, input: { what, ...(ms && { ms }) } })
const helping = (what: string) => ({
  name: 'ask_helper',
  input: {
    prompt: promptOf({
      id: what,
      turns: [{ calls: [call('note', what)] }, { text: `Helped with ${what}.` }],
    }),
  },
})

const every: EngineKind[] = ['by name', 'by place', 'one by one']

const scenes: Record<
  string,
  { agent: 'one' | 'side' | 'thinker'; turns: PlannedTurn[]; kinds: EngineKind[] }
> = {
  'one after the other': {
    agent: 'one',
    kinds: every,
    turns: [
      { calls: [call('note', 'a'), call('again', 'b')] },
      { calls: [call('wipe', 'c')] },
      { text: 'All is done.' },
    ],
  },
  'side by side': {
    agent: 'side',
    kinds: every,
    turns: [
      { calls: [call('note', 'a', 6), call('note', 'b', 2), call('again', 'c', 4)] },
      { text: 'All is done.' },
    ],
  },
  'a person decides on what is in doubt': {
    agent: 'side',
    kinds: every,
    turns: [{ calls: [call('doubt', 'a', 2), call('note', 'b')] }, { text: 'All is done.' }],
  },
  'a sleep': {
    agent: 'one',
    kinds: every,
    turns: [
      { calls: [call('note', 'a'), { name: 'sleep', input: { seconds: 0.01 } }] },
      { calls: [call('note', 'b')] },
      { text: 'All is done.' },
    ],
  },
  'a call that expires': {
    agent: 'one',
    kinds: every,
    turns: [{ calls: [call('expiring', 'a'), call('note', 'b')] }, { text: 'All is done.' }],
  },
  'a tool that ends it': {
    agent: 'one',
    kinds: every,
    turns: [{ calls: [call('note', 'a')] }, { calls: [call('finish', 'b')] }, { text: 'All is done.' }],
  },
  'sub-agents side by side': {
    agent: 'side',
    kinds: ['by name'],
    turns: [{ calls: [helping('a'), helping('b'), call('note', 'c', 3)] }, { text: 'All is done.' }],
  },
  'an orchestrator': {
    agent: 'thinker',
    kinds: every,
    turns: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }, { text: 'All is done.' }],
  },
}

type Played = { end: SegmentEnd; journal: Journal; begun: Begun; moments: number; deaths: number }

/** Plays a run through all its segments, in as many incarnations as it takes; each of the first ones dies at its n-th moment. */
const play = async (
  scene: string,
  deathsAt: readonly number[],
  kind: EngineKind,
  onMoment: (moment: number, journal: Journal) => void = () => {},
): Promise<Played> => {
  const { agent, turns } = scenes[scene] ?? { agent: 'one', turns: [] }
  const begun: Begun = new Map()
  const deaths = [...deathsAt]
  let start: SegmentStart = {
    from: { input: { prompt: promptOf({ id: 'run', turns }), id: 'run' } },
    seen: 0,
  }
  let journal = newJournal()
  let moments = 0
  for (;;) {
    const incarnation = newIncarnation(deaths.shift())
    const [before, current] = [moments, journal]
    incarnation.onMoment = () => onMoment(before + incarnation.moments, current)
    const died = new Promise<undefined>((resolve) => {
      incarnation.end.signal.addEventListener('abort', () => resolve(undefined))
    })
    const { signal } = incarnation.end
    const segment = replaySegment(
      agentsFor(begun)[agent],
      memoryEngine(journal, incarnation, kind),
      async () => start,
      {
        signal,
      },
    )
    const end = await Promise.race([segment, died])
    moments += incarnation.moments
    if (!end) continue
    if (end.status !== 'waiting' && end.status !== 'sleeping')
      return { end, journal, begun, moments, deaths: deathsAt.length - deaths.length }
    const { due } = end
    while (due !== undefined && Date.now() < due) await sleep(1)
    const calls = end.status === 'waiting' && due === undefined ? end.result.pendingApproval.calls : []
    journal.commands.push(
      ...calls.map(({ id }, index) => ({
        number: journal.commands.length + index + 1,
        command: { type: 'tool.approve' as const, callId: id },
      })),
    )
    start = { from: { snapshot: end.snapshot }, seen: end.seen }
    journal = newJournal(journal)
  }
}

/** The text that a reader of the whole stream puts together. */
const readerOf = ({ stream }: Journal) => {
  const messages: ChatMessage[] = []
  let text = ''
  let ends = 0
  for (const chunk of stream.flat()) {
    text = chunk.metadata.restart === true ? '' : text + chunk.output
    for (const message of chunk.messages) {
      if (message.role === 'model') expect(text.replace(/^\n/, '')).toBe(textOf(message))
      if (message.role === 'model') text = ''
      messages.push(message)
    }
    if (chunk.finishReason !== 'unspecified' && !chunk.pendingApproval) ends += 1
  }
  return { messages, ends }
}

const check = (scene: string, { end, journal, begun }: Played): void => {
  expect(end.status).toBe('complete')
  if (!('output' in end)) return
  const ending = scene === 'a tool that ends it' && begun.has('b') ? '' : 'All is done.'
  expect([ending, 'All is done.']).toContain(end.output.output.slice(-12))
  expect(validateHistory(end.output.messages)).toEqual([])
  const { messages, ends } = readerOf(journal)
  expect(messages).toEqual(end.output.messages)
  expect(ends).toBe(1)
  const planned = JSON.stringify(scenes[scene]?.turns)
  for (const [what, times] of begun)
    if (
      !planned.includes(`"again","input":{"what":"${what}"`) &&
      !planned.includes(`"doubt","input":{"what":"${what}"`)
    )
      expect(times, what).toBe(1)
  for (const { result, isError } of end.output.messages.flatMap(toolResultsOf))
    expect(result).toMatch(
      isError ? /whether it took effect is unknown/ : /^noted|^Helped with|^Slept for 0 sec/,
    )
}

test.each(Object.keys(scenes))('killed once at every moment: %s', async (scene) => {
  for (const kind of scenes[scene]?.kinds ?? []) {
    const undisturbed = await play(scene, [], kind)
    check(scene, undisturbed)
    for (let moment = 1; moment <= undisturbed.moments; moment += 1) {
      const played = await play(scene, [moment], kind)
      check(scene, played)
      expect(played.deaths).toBe(1)
    }
  }
})

test.each(['one after the other', 'a tool that ends it'])(
  'a message that was acknowledged is never lost, whenever it came, with and without a death: %s',
  async (scene) => {
    const kind = 'by place'
    const steered = (at: number, deathsAt: readonly number[]) => {
      let isTaken = false
      const steer = { type: 'steer', text: 'Be kind.' } as const
      return play(scene, deathsAt, kind, (moment, journal) => {
        if (moment !== at || journal.isClosed) return
        isTaken = true
        journal.commands.push({ number: journal.commands.length + 1, command: steer })
      }).then((played) => ({ ...played, isTaken }))
    }
    const { moments } = await play(scene, [], kind)
    let late = 0
    for (let at = 1; at <= moments; at += 1)
      for (const deathsAt of [[], [at], [at + 1], [at + 3]]) {
        const played = await steered(at, deathsAt)
        check(scene, played)
        const messages = 'output' in played.end ? played.end.output.messages : []
        const texts = messages.filter(({ role }) => role === 'user').map(textOf)
        expect(texts.join().split('Be kind.').length - 1, `${at} ${deathsAt}`).toBe(played.isTaken ? 1 : 0)
        if (played.journal.records.some(({ name }) => name === 'end (2)')) late += 1
      }
    expect(late).toBeGreaterThan(0)
  },
)

test.each(Object.keys(scenes))('killed again and again: %s', async (scene) => {
  for (const kind of scenes[scene]?.kinds ?? [])
    for (let seed = 1; seed <= 12; seed += 1) {
      const deathsAt = Array.from({ length: 5 }, (_, nth) => 1 + ((seed * 7919 + nth * 104_729) % 31))
      check(scene, await play(scene, deathsAt, kind))
    }
})
