/**
 * Background agents on an engine that replays, two deep, with sleeps, approvals and expiries inside: the process may die before
 * and after every record, and the model still sees each result once, in the order in which it saw them first.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openIn } from '../../machines/tools/pendingCalls.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { SegmentEnd, SegmentStart } from '../../src/durable/replay/engine.ts'
import { replaySegment } from '../../src/durable/replay/replaySegment.ts'
import type { AgentCommand } from '../../src/index.ts'
import { isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type Journal, memoryEngine, newIncarnation, newJournal } from '../dbos/world/memoryEngine.ts'
import { answering, calls } from '../engine/taskWorld.ts'
import { dice } from '../proof/dice.ts'
import { isWhole, sampled } from '../proof/sample.ts'
import { familyLead, flawOf, found } from './family/familyAgents.ts'
import { leave, playSegment } from './replaying.ts'
import { StreamReader } from './world/StreamReader.ts'

type Played = { end: SegmentEnd; journal: Journal; notes: string[]; moments: number }

/** Plays a family through all its segments. Each of the first processes dies at its n-th moment. */
const play = async (
  deathsAt: readonly number[],
  messages: readonly (readonly [number, AgentCommand])[] = [],
): Promise<Played> => {
  const effects = join(mkdtempSync(join(tmpdir(), 'statewire-replayed-')), 'effects.log')
  const deaths = [...deathsAt]
  const unsent = [...messages]
  const isAllowed = new Set<string>()
  let start: SegmentStart = { from: { input: { prompt: 'r0', id: 'r0' } }, seen: 0 }
  let journal = newJournal()
  let moments = 0
  for (;;) {
    const incarnation = newIncarnation(deaths.shift())
    const current = journal
    /** A person says yes to each reader that asks, as soon as it does. */
    const allow = (snapshot: unknown) => {
      for (const { id, name } of openIn(snapshot)) {
        if (name !== 'ask' || isAllowed.has(id)) continue
        isAllowed.add(id)
        leave(current, { type: 'tool.approve', callId: id })
      }
    }
    incarnation.onMoment = () => {
      moments += 1
      const [next] = unsent
      if (!next || moments < next[0] || current.isClosed) return
      unsent.shift()
      leave(current, next[1])
    }
    const died = new Promise<undefined>((resolve) => {
      incarnation.end.signal.addEventListener('abort', () => resolve(undefined))
    })
    const { signal } = incarnation.end
    const options = { signal, onStep: allow }
    const engine = memoryEngine(journal, incarnation, 'by name')
    const end = await Promise.race([
      replaySegment(familyLead(effects), engine, async () => start, options),
      died,
    ])
    if (!end) continue
    if (end.status !== 'waiting' && end.status !== 'sleeping') {
      const notes = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : []
      return { end, journal, notes, moments }
    }
    allow(end.snapshot)
    const { due } = end
    while (due !== undefined && Date.now() < due) await pause(1)
    start = { from: { snapshot: end.snapshot }, seen: end.seen }
    journal = newJournal(journal)
  }
}

const check = ({ end, journal, notes }: Played, about: string): void => {
  expect(end.status, about).toBe('complete')
  if (!('output' in end)) return
  const { messages } = end.output
  expect(validateHistory(messages), about).toEqual([])
  const results = messages.filter(isTaskResult).map((each) => textOf(each).split('\n').at(-1))
  // A message may cut off the answer that starts them, before it is recorded.
  const isStarted = messages
    .flatMap(toolResultsOf)
    .some(({ name, isError }) => name === 'research' && !isError)
  expect(results.toSorted(), about).toEqual(isStarted ? found : [])
  expect(messages.flatMap(toolResultsOf).filter(({ name }) => name === 'sleep')).toHaveLength(1)
  for (const [index, message] of messages.entries())
    if (message.role === 'model') expect(flawOf(message, messages.slice(0, index)), about).toBeUndefined()
  expect(notes.length, about).toBe(new Set(notes).size)
  const reader = new StreamReader()
  for (const chunk of journal.stream.flat()) reader.take({ cursor: '', chunk })
  expect(reader.faultsAgainst(messages), about).toEqual([])
  expect(reader.finish, about).toBe('stop')
}

test('families of background agents survive the death of their process at any moment', async () => {
  const undisturbed = await play([])
  check(undisturbed, 'undisturbed')
  const moments = Array.from({ length: undisturbed.moments }, (_, index) => index + 1)
  for (const moment of sampled(moments, 0.15)) check(await play([moment]), `died at ${moment}`)
}, 300_000)

test('families whose processes die again and again get each message once, in its order', async () => {
  for (let seed = 1; seed <= (isWhole ? 100 : 8); seed += 1) {
    const random = dice(seed)
    const deaths = Array.from({ length: 8 }, () => 1 + random.below(60))
    const texts = ['a', 'b', 'c', 'd']
    const messages = texts.map((text, index) => {
      const when = random.pick(['now', 'step', 'idle'] as const)
      return [10 * index + random.below(30), { type: 'message', text: `${when} ${text}`, when }] as const
    })
    const played = await play(deaths, messages)
    check(played, `seed ${seed}`)
    const said =
      'output' in played.end ? played.end.output.messages.filter(({ role }) => role === 'user') : []
    const lines = said.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    )
    for (const { command } of played.journal.commands)
      if (command.type === 'message')
        expect(
          lines.filter((line) => line === command.text),
          `${seed}: ${command.text}`,
        ).toHaveLength(1)
  }
}, 300_000)

test('a sub-agent in the foreground cannot start tasks, and its model learns why', async () => {
  const worker = new Agent(answering(() => 'Done.'))
  const work = worker.asTool({ name: 'work', description: 'Works', background: true })
  const boss = new Agent(
    answering(({ messages }) =>
      messages.length === 1 ? calls('work', 'a') : textOf(messages.at(-1) as never),
    ),
    { tools: [work] },
  )
  const ask = boss.asTool({ name: 'ask_boss', description: 'Asks' })
  const agent = new Agent(
    answering(({ messages }) => {
      const [result] = messages.flatMap(toolResultsOf)
      return result
        ? result.result
        : [{ toolCall: { id: 'b', name: 'ask_boss', arguments: { prompt: 'Go' } } }]
    }),
    { tools: [ask] },
  )
  const end = await playSegment(agent)
  expect('output' in end && end.output.output).toContain('cannot start background agents')
})
