import { describe, expect, test } from 'vitest'
import type { AnyActor, AnyMachineSnapshot, AnyStateNode, Snapshot } from 'xstate'
import { agentStates, statePath } from '../../machines/agent/states.ts'
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

/** `npm run proof` stores and restores on every path; `npm test` so often in each state of each variant, and on some of the other paths. */
const alwaysStored = 5

type Stored = Snapshot<unknown> & {
  context?: unknown
  children?: Record<string, { snapshot: { input: never } }>
}

const persist = (actor: AnyActor): Stored => JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))

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

/** A stored snapshot as it would be with the real children in place of the puppets. */
const asStored = (snapshot: Stored, { children: real = {} }: TestedChart): Stored => {
  const children = Object.entries(snapshot.children ?? {}).map(([id, child]) => {
    const stored = real[id]?.(child.snapshot.input, snapshot.context as never)
    return [id, { ...child, snapshot: { ...child.snapshot, ...stored } }]
  })
  return { ...snapshot, children: Object.fromEntries(children) }
}

/** The output has the policy that the run leaves: that of a puppet is not what the real one stores. */
const withoutPolicy = (snapshot: Stored): object => {
  const { output, ...rest } = snapshot
  const { policy: _, ...kept } = Object(output)
  return { ...rest, output: kept }
}

/**
 * The machine that users get takes a snapshot that was stored just before the last event, or at the end, and continues to
 * the same end.
 */
const checkRestore = (
  { machine, path, actor }: PathStep,
  chart: TestedChart,
  stored: Stored,
  seen: number,
) => {
  const { from } = chart.options
  const again = replayPath(machine, path, {
    ...(from && { from }),
    resume: { snapshot: asStored(stored, chart), seen },
    onStep: (restored, index) => {
      if (index === seen)
        expect(restored.getSnapshot()).toMatchObject({ status: stored.status, error: undefined })
    },
  })
  const [found, expected] = [again, actor].map((each) => withoutPolicy(asStored(persist(each), chart)))
  expect(found).toEqual(expected)
  again.stop()
}

/** The report of a chart whose paths, each or each nth, were walked and checked, and the states it was restored in. */
const walk = (chart: TestedChart, check: (snapshot: AnyMachineSnapshot) => void, every = 1) => {
  const restored = new Map<string, number>()
  let stored: Stored | undefined
  const { chance } = dice(proofSeed)
  const checkPath = (step: PathStep) => {
    const { actor, path, index, variant } = step
    const snapshot = actor.getSnapshot() as AnyMachineSnapshot
    expect(chart.options.key(snapshot)).toBe(path.keys[index])
    const left = path.events.length - index
    // The way to its last event is another path, which was checked already.
    if (left > 1) return
    checkStep(actor, chart)
    check(snapshot)
    const state = statePath(snapshot.value)
    const place = `${variant} ${state}`
    const times = restored.get(place) ?? 0
    // An actor that ended in an error has nothing to continue from.
    const isTaken = snapshot.status !== 'error' && (isWhole || times < alwaysStored || chance(0.03))
    if (left === 1) {
      stored = isTaken ? persist(actor) : undefined
      if (isTaken) restored.set(place, times + 1)
      return
    }
    if (stored) {
      checkJson(actor)
      checkRestore(step, chart, stored, Math.max(0, index - 1))
    }
    stored = undefined
    if (snapshot.status !== 'done' || !isTaken) return
    restored.set(place, times + 1)
    checkRestore(step, chart, persist(actor), index)
  }
  const { coverage, paths: all } = walkChart(chart, checkPath, every)
  console.log(`${coverage.report()} on ${all} paths`)
  const states = new Set([...restored.keys()].map((place) => place.replace(/^\d+ /, '')))
  return { report: coverage.report(), restored: [...states].toSorted() }
}

/** All states that are innermost, in any configuration: a chart without `always` can rest in each. */
const innermostOf = ({ variants }: TestedChart): string[] => {
  const inside = (node: AnyStateNode): AnyStateNode[] => {
    const inner = Object.values(node.states)
    return inner.length === 0 ? [node] : inner.flatMap(inside)
  }
  const paths = variants.flatMap(({ chart }) => inside(chart.root).map(({ path }) => path.join('.')))
  return [...new Set(paths)].toSorted()
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
    const { report, restored } = walk(agentChart, checkHistory, everyOfAgent)
    expect(report).toBe('agent: 141/141 transitions')
    const states = [...agentStates()].filter(([, { isStorable, isFinal }]) => isStorable || isFinal)
    expect(restored).toEqual(states.map(([path]) => path).toSorted())
  }, 1_800_000)

  /** A chart that is made of runs reports how it ended, with what its runs used and added. */
  const checkOutput = ({ status, value, output, context }: AnyMachineSnapshot) => {
    if (status !== 'done') return
    expect(output.status).toBe(String(value).toLowerCase())
    expect(output.messages).toBe(context.messages)
    expect(output.usage ?? null).toEqual(context.totals.usage)
    if (output.status === 'failed') expect(output.error.name).toMatch(/Error$/)
  }

  test('typed output ends in one final state, checks every answer and asks again once', () => {
    const { report, restored } = walk(typedChart, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.corrections).toBeLessThan(2)
    })
    expect(report).toBe('typed-output: 37/37 transitions')
    expect(restored).toEqual(innermostOf(typedChart))
  })

  test('reasoning goes through its phases in order and ends in one final state', () => {
    const { report, restored } = walk(reasoningChart, checkOutput)
    expect(report).toBe('reasoning: 64/64 transitions')
    expect(restored).toEqual(innermostOf(reasoningChart))
  })

  test('reflection never revises more often than it may', () => {
    const { report, restored } = walk(reflectionChart, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.round).toBeLessThanOrEqual(2)
    })
    expect(report).toBe('reflection: 50/50 transitions')
    expect(restored).toEqual(innermostOf(reflectionChart))
  })

  test('a decision ends with an event, or with an error and never with both', () => {
    const { report, restored } = walk(decisionChart, ({ value, output, context }) => {
      if (value === 'Decided') expect(output).toEqual({ type: 'guess', number: 7 })
      expect(context.failure !== null).toBe(value === 'Failed')
    })
    expect(report).toBe('decision: 33/33 transitions')
    expect(restored).toEqual(innermostOf(decisionChart))
  })

  test('the same transitions are counted each time', () => {
    const charts = [typedChart, reasoningChart, reflectionChart, decisionChart]
    expect(pathCounts(charts)).toEqual(pathCounts(charts))
  })
})
