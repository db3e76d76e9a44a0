import { describe, expect, test } from 'vitest'
import type { AnyActor, AnyMachineSnapshot } from 'xstate'
import type { StreamingState } from '../../machines/index.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { replayPath } from '../../src/testing/paths.ts'
import { dice } from '../proof/dice.ts'
import { isWhole, proofSeed } from '../proof/sample.ts'
import {
  agentChart,
  decisionChart,
  reasoningChart,
  reflectionChart,
  type TestedChart,
  typedChart,
} from './charts.ts'
import { pathCounts } from './pathCounts.ts'
import { type PathStep, walkChart } from './walk.ts'

// Every path through the graphs of the machines, walked with real actors. What holds on all of them holds. The agent's graph has
// tens of thousands: `npm test` walks each eighth, and takes every transition; `npm run proof` walks all.
const everyOfAgent = isWhole ? 1 : 8

/** `npm run proof` stores and restores on every path; `npm test` on so many, and on some of the others. */
const alwaysStored = 500

const persist = (actor: AnyActor) => JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))

const isActive = (child: unknown) => (child as AnyActor).getSnapshot().status === 'active'

/** What must be true of any machine after any event. */
const checkStep = (actor: AnyActor, { finals, options }: TestedChart) => {
  const snapshot = actor.getSnapshot() as AnyMachineSnapshot
  expect(snapshot.status === 'done').toBe(finals.includes(String(snapshot.value)))
  if (snapshot.status === 'error') expect(options.isEnd?.(snapshot)).toBe(true)
  if (snapshot.status === 'done') expect(Object.values(snapshot.children).filter(isActive)).toEqual([])
}

/** It can be stored as it is. */
const checkJson = (actor: AnyActor) => {
  const persisted = actor.getPersistedSnapshot()
  expect(JSON.parse(JSON.stringify(persisted))).toEqual(stripUndefined(persisted))
}

/** JSON has no undefined: a key that holds it is the same as no key. */
const stripUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stripUndefined)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(entries.map(([name, each]) => [name, stripUndefined(each)]))
}

/** A stored snapshot taken just before the last event goes on to the same end in a new actor. */
const checkRestore = (
  { machine, path, actor }: PathStep,
  { from }: TestedChart['options'],
  stored: unknown,
) => {
  const snapshot = stored as ReturnType<typeof machine.getPersistedSnapshot>
  const resume = { snapshot, seen: Math.max(0, path.events.length - 1) }
  const again = replayPath(machine, path, { ...(from && { from }), resume })
  expect(persist(again)).toEqual(persist(actor))
  again.stop()
}

/** The report of a chart whose paths, each or each nth, were walked and checked. */
const walk = (chart: TestedChart, check: (snapshot: AnyMachineSnapshot) => void, every = 1): string => {
  let stored: unknown
  let paths = 0
  let isStored = true
  const { chance } = dice(proofSeed)
  const checkPath = (step: PathStep) => {
    const { actor, path, index } = step
    const snapshot = actor.getSnapshot() as AnyMachineSnapshot
    expect(chart.options.key(snapshot)).toBe(path.keys[index])
    const left = path.events.length - index
    // The way to its last event is a path of its own, which was checked already.
    if (left > 1) return
    checkStep(actor, chart)
    check(snapshot)
    if (left === 1 || index === 0) {
      paths += 1
      isStored = isWhole || paths < alwaysStored || chance(0.05)
      if (isStored) stored = persist(actor)
    }
    if (left > 0 || !isStored) return
    checkJson(actor)
    checkRestore(step, chart.options, stored)
  }
  const { coverage, paths: all } = walkChart(chart, checkPath, every)
  console.log(`${coverage.report()} on ${all} paths`)
  return coverage.report()
}

const checkHistory = ({ status, context }: AnyMachineSnapshot) => {
  const { history, failure } = context as StreamingState
  if (failure?.name === 'ConfigurationError') return
  // While a round is under way its calls have no results yet; once the run is over, every call has one.
  const tolerated = status === 'active' ? ['missingResult'] : []
  expect(validateHistory(history).filter(({ code }) => !tolerated.includes(code))).toEqual([])
}

// The numbers are pinned: a transition that is added or removed must be seen here.
describe('on every path', () => {
  test('the agent ends in one final state, keeps a valid history, survives storage, and leaves nothing behind', () => {
    expect(walk(agentChart, checkHistory, everyOfAgent)).toBe('agent: 77/77 transitions')
  }, 300_000)

  /** A chart that is made of runs tells how it ended, with what its runs used and added. */
  const checkOutput = ({ status, value, output, context }: AnyMachineSnapshot) => {
    if (status !== 'done') return
    expect(output.status).toBe(String(value).toLowerCase())
    expect(output.messages).toBe(context.messages)
    expect(output.usage ?? null).toEqual(context.totals.usage)
    if (output.status === 'failed') expect(output.error.name).toMatch(/Error$/)
  }

  test('typed output ends in one final state, checks every answer and asks again once', () => {
    const report = walk(typedChart, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.corrections).toBeLessThan(2)
    })
    expect(report).toBe('typed-output: 35/35 transitions')
  })

  test('reasoning goes through its phases in order and ends in one final state', () => {
    expect(walk(reasoningChart, checkOutput)).toBe('reasoning: 60/60 transitions')
  })

  test('reflection never revises more often than it may', () => {
    const report = walk(reflectionChart, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.round).toBeLessThanOrEqual(2)
    })
    expect(report).toBe('reflection: 47/47 transitions')
  })

  test('a decision ends with an event, or with an error and never with both', () => {
    const report = walk(decisionChart, ({ value, output, context }) => {
      if (value === 'Decided') expect(output).toEqual({ type: 'guess', number: 7 })
      expect(context.failure !== null).toBe(value === 'Failed')
    })
    expect(report).toBe('decision: 31/31 transitions')
  })

  test('the same transitions are counted each time', () => {
    const charts = [typedChart, reasoningChart, reflectionChart, decisionChart]
    expect(pathCounts(charts)).toEqual(pathCounts(charts))
  })
})
