// Everything that the page knows about states comes from the chart: no state is listed in the inspector.
import { describe, expect, it } from 'vitest'
import type { AnyStateMachine, Snapshot } from 'xstate'
import { agentStates } from '../../machines/agent/states.ts'
import { activeStates, activityOf, chartView, lifecycleChart } from '../../src/inspector/chart.ts'
import { gallery } from '../visualize/gallery.ts'

const lifecycle = lifecycleChart()

/** A snapshot of the lifecycle chart in a state, with as much data as the inspector looks at. */
const snapshotIn = (value: unknown): Snapshot<unknown> => {
  const context = { answer: {}, request: {}, round: {}, history: [], messages: [] }
  return Object.assign({ status: 'active' as const, output: undefined, error: undefined }, { value, context })
}

/** `A.B` as the value that XState has for it. */
const stateValue = (path: string): unknown =>
  path
    .split('.')
    .reverse()
    .reduce<unknown>((inner, key) => (inner === undefined ? key : { [key]: inner }), undefined)

/** A decision is not a run: it has one end, for every answer. */
const runs = gallery.flatMap(({ machine }): [string, AnyStateMachine][] =>
  machine.id === 'decision' ? [] : [[machine.id, machine]],
)

it.each(runs)('Every end of %s has a status of its own', (_, machine) => {
  const { states, ends } = chartView(machine)
  const finals = states.filter(({ type, parent }) => type === 'final' && parent === machine.id)
  expect(Object.keys(ends)).toEqual(finals.map(({ id }) => id))
  expect(Object.values(ends).toSorted()).toEqual(['aborted', 'complete', 'failed'])
})

describe('A state of the lifecycle chart', () => {
  it('has an activity, if a run can rest in it', () => {
    const activities = [...agentStates()].flatMap(([path, { isStorable, isFinal }]) =>
      isStorable || isFinal ? [[path, activityOf(lifecycle, snapshotIn(stateValue(path)))]] : [],
    )
    const gates = ['Prompt', 'Calls', 'Results', 'Tasks', 'Answer'].flatMap((gate) => [
      // Most policies answer at once: nothing is to be seen of the question.
      [`Judging.${gate}.Asking`, ''],
      [`Judging.${gate}.Holding`, 'pausing'],
    ])
    expect(Object.fromEntries(activities)).toEqual({
      ...Object.fromEntries(gates),
      AtLimit: 'waiting',
      'Compacting.Summarising': 'compacting',
      'Compacting.Halving': 'compacting',
      'Accumulating.Requesting': 'asking',
      'Accumulating.Streaming': 'streaming',
      'Accumulating.BackingOff': 'pausing',
      AwaitingApproval: 'waiting',
      'ToolExecution.Working': 'working',
      'ToolExecution.Waiting': 'waiting',
      AwaitingTools: 'waiting',
      AwaitingTasks: 'waiting',
      Complete: 'complete',
      Failed: 'failed',
      Aborted: 'aborted',
    })
  })

  it('is found by the value of a snapshot, with the states around it', () => {
    const idsOf = (value: unknown) => activeStates(lifecycle, snapshotIn(value)).map(({ id }) => id)
    expect(idsOf({ Accumulating: 'Streaming' })).toEqual([
      'agent',
      'agent.Accumulating',
      'agent.Accumulating.Streaming',
    ])
    expect(idsOf('NoSuchState')).toEqual(['agent'])
    expect(activeStates(null, snapshotIn('Complete'))).toEqual([])
  })

  it('is that of the run inside, if the stored run belongs to a chart that is not known', () => {
    const stored = { value: 'Drafting', children: { run: { snapshot: { value: 'AwaitingApproval' } } } }
    expect(activeStates(lifecycle, stored).map(({ id }) => id)).toEqual(['agent', 'agent.AwaitingApproval'])
  })
})
