/** On an engine that replays, such as DBOS, a check of a policy is a recorded step: a replay never judges a second time. */
import { describe, expect, test } from 'vitest'
import { type AnyActorLogic, type AnyStateMachine, createMachine, fromCallback, fromPromise } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { SegmentEnd } from '../../src/durable/replay/engine.ts'
import { replaySegment } from '../../src/durable/replay/replaySegment.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { memoryEngine, newIncarnation, newJournal } from '../dbos/world/memoryEngine.ts'
import { leave, playSegment, recordsOf, started } from '../durable/replaying.ts'
import { call, resultsIn } from './refunds.ts'

const passes = ({ event }: { event: { output: unknown } }) => event.output === true

const holding = (invoke: { src: string | AnyActorLogic }): AnyStateMachine['config'] => ({
  initial: 'Open',
  states: {
    Open: { on: { 'pay.call': 'Checking' } },
    Checking: {
      tags: 'hold',
      invoke: {
        id: 'check',
        ...invoke,
        onDone: [{ guard: passes, target: 'Fine' }, { target: 'Bad' }],
        onError: 'Bad',
      },
      on: { passed: 'Fine' },
    },
    Fine: { on: { 'pay.call': 'Checking' } },
    Bad: { tags: 'refuse', meta: { reason: 'The check refused it.' } },
  },
})

const asking: AnyStateMachine['config'] = {
  initial: 'Asking',
  states: { Asking: { invoke: { id: 'inner', src: 'check', onDone: 'Over' } }, Over: { type: 'final' } },
  output: ({ event }: { event: unknown }) => Object(event).output ?? true,
}

/** The ways in which a policy has a check. */
const policies: Record<string, (check: AnyActorLogic) => AnyStateMachine> = {
  'by name': (check) => createMachine(holding({ src: 'check' }), { actors: { check } }),
  'without a name': (check) => createMachine(holding({ src: check })),
  'in a chart of its own': (check) =>
    createMachine(holding({ src: 'chart' }), {
      actors: { chart: createMachine(asking, { actors: { check } }) },
    }),
}

const desk = (kind: string, check: AnyActorLogic) => {
  const ran: string[] = []
  const pay = tool({ name: 'pay', description: 'Pays', execute: () => void ran.push('pay') })
  const agent = (turns: Parameters<typeof scriptedModel>[0]) =>
    new Agent(scriptedModel(turns), { tools: [pay], policy: policies[kind]?.(check) ?? createMachine({}) })
  return { ran, agent }
}

const turns = () => [[call('p', 'pay')], 'done']

const resultOf = (end: SegmentEnd) => ('output' in end ? resultsIn(end.output.messages).p : undefined)

describe.each(Object.keys(policies))('a check %s', (kind) => {
  test('is made once, and a replay has its outcome', async () => {
    let checks = 0
    const verdicts = [true, false]
    const { agent } = desk(
      kind,
      fromPromise(async () => verdicts[checks++]),
    )
    const journal = newJournal()
    const end = await playSegment(agent(turns()), { journal })
    expect(Object.keys(recordsOf(journal)).filter((name) => name.includes(' check '))).toHaveLength(1)
    expect(await playSegment(agent([]), { journal })).toEqual(end)
    expect(end.status).toBe('complete')
    expect(checks).toBe(1)
  })

  test('that was cut off by a death is made again, and nothing has run before it', async () => {
    for (let moment = 1; moment < 40; moment += 1) {
      let checks = 0
      const { agent, ran } = desk(
        kind,
        fromPromise(async () => {
          checks += 1
          return true
        }),
      )
      const journal = newJournal()
      const incarnation = newIncarnation(moment)
      const { signal } = incarnation.end
      const died = new Promise<undefined>((resolve) => {
        signal.addEventListener('abort', () => resolve(undefined))
      })
      const first = replaySegment(
        agent(turns()),
        memoryEngine(journal, incarnation, 'by place'),
        async () => started,
        { signal },
      )
      if (await Promise.race([first, died])) return
      const answers = journal.records.filter(
        ({ name, value }) => name.includes('turn') && value !== undefined,
      ).length
      const end = await playSegment(agent(turns().slice(answers)), { journal, kind: 'by place' })
      expect(end.status).toBe('complete')
      expect(ran.length).toBeLessThan(2)
      expect(checks).toBeLessThan(3)
    }
    expect.fail('no incarnation outlived its moment')
  })
})

test('a check that fails is recorded as failed: a replay does not pass what was refused', async () => {
  let isDown = true
  const { agent, ran } = desk(
    'by name',
    fromPromise(async () => {
      if (isDown) throw new Error('The service is down.')
      return true
    }),
  )
  const journal = newJournal()
  const end = await playSegment(agent(turns()), { journal })
  expect(resultOf(end)).toContain('The check refused it.')
  isDown = false
  expect(await playSegment(agent([]), { journal })).toEqual(end)
  expect(ran).toEqual([])
})

test('an abort ends a check that hangs', async () => {
  const { agent } = desk(
    'by name',
    fromPromise(() => new Promise(() => {})),
  )
  const journal = newJournal()
  const onMoment = () => {
    if (journal.commands.length === 0 && journal.records.some(({ name }) => name.includes(' check ')))
      leave(journal, { type: 'abort', reason: 'Enough.' })
  }
  const segment = playSegment(agent(turns()), { journal, onMoment })
  const timer = setInterval(onMoment, 20)
  expect(await segment).toMatchObject({ status: 'aborted', output: { reason: 'Enough.' } })
  clearInterval(timer)
})

test('an actor that answers with an event of its own is run again by a replay', async () => {
  const { agent, ran } = desk(
    'by name',
    fromCallback(({ sendBack }) => sendBack({ type: 'passed' })),
  )
  const journal = newJournal()
  const end = await playSegment(agent(turns()), { journal })
  expect(end.status).toBe('complete')
  expect(await playSegment(agent([]), { journal })).toEqual(end)
  expect(ran).toEqual(['pay'])
})
