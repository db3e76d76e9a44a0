import { describe, expect, test } from 'vitest'
import type { AnyActor, AnyMachineSnapshot, AnyStateMachine, SnapshotFrom } from 'xstate'
import type { StreamingState } from '../../machines/index.ts'
import { type MachinePath, type PathOptions, planPaths, replayPath } from '../../src/testing/paths.ts'
import { withPuppets } from '../../src/testing/puppets.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import { validateHistory } from '../../src/validateHistory.ts'
import { agentPaths, charts } from './agentPaths.ts'
import { decision, decisionPaths } from './decisionPaths.ts'
import { reasoning, reasoningPaths } from './reasoningPaths.ts'
import { reflection, reflectionPaths } from './reflectionPaths.ts'
import { batch, batchPaths } from './toolBatchPaths.ts'
import { typedMachines, typedPaths } from './typedOutputPaths.ts'

// Every path through the graphs of the machines, walked with real actors. What holds on all of them holds.

const persist = (actor: AnyActor) => JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))

const isActive = (child: unknown) => (child as AnyActor).getSnapshot().status === 'active'

/** What must be true of any machine after any event. */
const checkStep = (actor: AnyActor, finals: readonly string[]) => {
  const snapshot = actor.getSnapshot() as AnyMachineSnapshot
  expect(snapshot.status === 'done').toBe(finals.includes(String(snapshot.value)))
  expect(['active', 'done']).toContain(snapshot.status)
  const persisted = actor.getPersistedSnapshot()
  expect(JSON.parse(JSON.stringify(persisted))).toEqual(stripUndefined(persisted))
  if (snapshot.status === 'done') expect(Object.values(snapshot.children).filter(isActive)).toEqual([])
}

/** JSON has no undefined: a key that holds it is the same as no key. */
const stripUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stripUndefined)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(entries.map(([name, each]) => [name, stripUndefined(each)]))
}

/** A stored snapshot taken just before the last event goes on to the same end in a new actor. */
const checkRestore = <M extends AnyStateMachine>(
  machine: M,
  path: MachinePath<M>,
  options: PathOptions<M>,
  ended: AnyActor,
  stored: unknown[],
) => {
  const seen = Math.max(0, path.events.length - 1)
  const snapshot = stored[seen] as SnapshotFrom<M>
  const { from } = options
  const again = replayPath(machine, path, { ...(from && { from }), resume: { snapshot, seen } })
  expect(persist(again)).toEqual(persist(ended))
  again.stop()
}

const walk = <M extends AnyStateMachine>(
  machines: readonly M[],
  options: PathOptions<M>,
  finals: readonly string[],
  check: (snapshot: AnyMachineSnapshot, path: MachinePath<M>) => void,
): { report: string; paths: number } => {
  const variants = machines.map(withPuppets)
  const coverage = new TransitionCoverage(variants[0] as M)
  let count = 0
  for (const puppets of variants) {
    for (const path of planPaths(puppets, options)) {
      count += 1
      const stored: unknown[] = []
      const actor = replayPath(puppets, path, {
        ...(options.from && { from: options.from }),
        inspect: coverage.inspect,
        onStep: (running, index) => {
          const snapshot = running.getSnapshot()
          expect(options.key(snapshot)).toBe(path.keys[index])
          checkStep(running, finals)
          check(snapshot, path)
          stored.push(persist(running))
        },
      })
      checkRestore(puppets, path, options, actor, stored)
      actor.stop()
    }
  }
  return { report: coverage.report(), paths: count }
}

const checkHistory = ({ status, context }: AnyMachineSnapshot) => {
  const { history, failure } = context as StreamingState
  if (failure?.name === 'ConfigurationError') return
  // While a round is under way its calls have no results yet; once the run is over, every call has one.
  const tolerated = status === 'active' ? ['missingResult'] : []
  expect(validateHistory(history).filter(({ code }) => !tolerated.includes(code))).toEqual([])
}

describe('on every path', () => {
  test('the agent ends in one final state, keeps a valid history, survives storage, and leaves nothing behind', () => {
    const { report, paths } = walk(charts, agentPaths, ['Complete', 'Failed', 'Aborted'], checkHistory)
    console.log(`${report} on ${paths} paths`)
    // The numbers are pinned: a transition that is added or removed must be seen here.
    expect(report).toBe('agent: 40/40 transitions')
  }, 120_000)

  test('the tool batch runs every call once and gives the results in call order', () => {
    const { report, paths } = walk([batch], batchPaths, ['Done'], ({ status, output, context }) => {
      if (status === 'done') {
        expect(output.results.map(({ id }: { id: string }) => id)).toEqual(context.order)
      }
    })
    console.log(`${report} on ${paths} paths`)
    expect(report).toBe('toolBatch: 3/3 transitions')
  })

  /** A chart that is made of runs tells how it ended, with what its runs used and added. */
  const checkOutput = ({ status, value, output, context }: AnyMachineSnapshot) => {
    if (status !== 'done') return
    expect(output.status).toBe(String(value).toLowerCase())
    expect(output.messages).toBe(context.messages)
    expect(output.usage ?? null).toEqual(context.usage)
    if (output.status === 'failed') expect(output.error.name).toMatch(/Error$/)
  }

  const finals = ['Complete', 'Failed', 'Aborted']

  test('typed output ends in one final state, checks every answer and asks again once', () => {
    const { report, paths } = walk(typedMachines, typedPaths, finals, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.corrections).toBeLessThan(2)
    })
    console.log(`${report} on ${paths} paths`)
    expect(report).toBe('typedOutput: 26/26 transitions')
  })

  test('reasoning goes through its phases in order and ends in one final state', () => {
    const { report, paths } = walk([reasoning], reasoningPaths, finals, checkOutput)
    console.log(`${report} on ${paths} paths`)
    expect(report).toBe('reasoning: 36/36 transitions')
  })

  test('reflection never revises more often than it may', () => {
    const { report, paths } = walk([reflection], reflectionPaths, finals, (snapshot) => {
      checkOutput(snapshot)
      expect(snapshot.context.round).toBeLessThanOrEqual(2)
    })
    console.log(`${report} on ${paths} paths`)
    expect(report).toBe('reflection: 29/29 transitions')
  })

  test('a decision ends with an event, or with an error and never with both', () => {
    const { report, paths } = walk([decision], decisionPaths, ['Decided'], ({ value, output, context }) => {
      if (value === 'Decided') expect(output).toEqual({ type: 'guess', number: 7 })
      expect(context.failure !== null).toBe(value === 'Failed')
    })
    console.log(`${report} on ${paths} paths`)
    expect(report).toBe('decision: 11/11 transitions')
  })
})
