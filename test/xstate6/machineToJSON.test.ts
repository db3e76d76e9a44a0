/** Exported machines are loaded by the tools that read them: XState 5, XState 6, and the graph tools. */
import { expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { getShortestPaths, toDirectedGraph } from 'xstate/graph'
import { createActor as createActor6, createCallbackLogic, createMachineFromConfig } from 'xstate6'
import { reasoningOrchestrator } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { describeMachine, machineToJSON } from '../../src/visualize/index.ts'

const model = scriptedModel([])
const agents = {
  lifecycle: new Agent(model, { timeouts: { totalMs: 60_000 }, onApproval: () => ({ approve: true }) }),
  phases: new Agent(model, { orchestrator: reasoningOrchestrator() }),
}
const delayed = createMachine({
  id: 'delayed',
  type: 'parallel',
  states: {
    a: {
      initial: 'x',
      states: { x: { after: { 50: 'y' } }, y: { type: 'final' } },
      onDone: { actions: 'note' },
    },
    b: { initial: 'x', states: { x: { on: { back: 'h' } }, h: { type: 'history' } } },
  },
})
const charts = {
  ...Object.fromEntries(Object.entries(agents).map(([name, { chart }]) => [name, chart])),
  delayed,
}

test.each(Object.entries(charts))('XState 5 reads the chart %s, and finds the same in it', (_, chart) => {
  const json = JSON.parse(JSON.stringify(machineToJSON(chart)))
  const read = describeMachine(createMachine(json))
  const { states, transitions } = describeMachine(chart)
  // An action of an `initial` has no place in the JSON.
  expect(read.states).toEqual(states)
  expect(read.transitions).toEqual(transitions)
})

test.each(Object.entries(agents))('XState 6 reads the chart of %s, and runs it', (_, { chart }) => {
  const json = JSON.parse(JSON.stringify(machineToJSON(chart)))
  // XState 6 wants a source for every name.
  const { states, transitions } = describeMachine(chart)
  const sources = <T>(names: readonly string[], source: T) =>
    Object.fromEntries(names.map((name) => [name, source]))
  const taken: string[] = []
  const machine = createMachineFromConfig(json, {
    actions: Object.fromEntries(
      [
        ...states.flatMap(({ entry, exit }) => [...entry, ...exit]),
        ...transitions.flatMap(({ actions }) => actions),
      ].map((name) => [name, () => void taken.push(name)]),
    ),
    guards: sources(
      transitions.flatMap(({ guard }) => guard ?? []),
      () => false,
    ),
    actors: sources(
      states.flatMap(({ invokes }) => invokes.map(({ src }) => src)),
      createCallbackLogic(() => {}),
    ),
  })
  const keys = (node: { states: object }): unknown[] =>
    Object.entries(node.states).map(([key, inner]) => [key, keys(inner)])
  expect(keys(machine.root)).toEqual(keys(chart.root))
  const actor = createActor6(machine).start()
  expect([{ Accumulating: 'Requesting' }, { Analysis: 'Working' }]).toContainEqual(actor.getSnapshot().value)
  actor.send({ type: 'abort' })
  expect(taken).toContain('noteAbort')
})

test('the chart of an agent goes into the graph tools of XState', () => {
  const { chart } = agents.lifecycle
  expect(toDirectedGraph(chart).children.map(({ stateNode }) => stateNode.key)).toEqual(
    Object.keys(chart.root.states),
  )
  const paths = getShortestPaths(chart, {
    input: { prompt: 'Go' },
    events: [{ type: 'abort' }],
    serializeState: ({ value }) => JSON.stringify(value),
  })
  expect(paths.map(({ state }) => state.value)).toEqual([{ Accumulating: 'Requesting' }, 'Aborted'])
  expect(toDirectedGraph(agents.phases.chart).children.length).toBeGreaterThan(3)
})

test('an orchestrator that is not a chart has none', () => {
  const { getInitialSnapshot, transition, getPersistedSnapshot } = agents.lifecycle.machine
  const create = () => ({ getInitialSnapshot, transition, getPersistedSnapshot })
  const agent = new Agent(model, { orchestrator: { providerHint: 'bare', create } })
  expect(() => agent.chart).toThrow(ConfigurationError)
})
