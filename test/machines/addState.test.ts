/**
 * "Add a state" in CONTRIBUTING, followed: a copy of the chart gets one more state, and everything that is derived from the
 * chart has it. What must be written by hand is missed by a check.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AnyStateMachine, createMachine } from 'xstate'
import { agentStates, factsIn, statePath } from '../../machines/agent/states.ts'
import { type AgentMachineConfig, createChart } from '../../machines/index.ts'
import { runMachine } from '../../machines/logic/runMachine.ts'
import { storedFlaw } from '../../machines/stored/storedRun.ts'
import { snapshotVersion } from '../../machines/stored/version.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { describeMachine, toMermaid } from '../../src/visualize/index.ts'
import { agentChart } from './charts.ts'
import { walkChart } from './walk.ts'

const added = 'Pondering'

/** The agent's chart with a state that waits between two steps, until someone steers. */
const withAdded = (config: AgentMachineConfig): AnyStateMachine => {
  const { config: chart, implementations } = createChart(config)
  const { AtLimit, ...states } = { ...chart.states }
  return createMachine(
    {
      ...chart,
      states: {
        ...states,
        AtLimit: { ...AtLimit, on: { ...AtLimit?.on, compact: added } },
        [added]: {
          description: 'Waits until someone steers.',
          tags: 'waiting',
          on: { steer: 'MessageReset' },
        },
      },
    },
    implementations,
  )
}

const config: AgentMachineConfig = {
  model: scriptedModel([]),
  limits: { steps: 1, tokens: Number.MAX_SAFE_INTEGER },
  retry: { maxRetries: 0 },
  atLimit: 'ask',
}

/** A line of the table of states in the guide: the names in its first column. */
const documented = (): string[] => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/actors-and-snapshots.md'), 'utf8')
  const [, table = ''] = /## States\n\n([\s\S]*?)\n\n/.exec(guide) ?? []
  return [...new Set(table.match(/(?<=`)[A-Z]\w+(?=`)/g))].toSorted()
}

const namesIn = (chart: AnyStateMachine): string[] =>
  [
    ...new Set(
      describeMachine(chart)
        .states.filter(({ parent }) => parent !== null)
        .map(({ key }) => key),
    ),
  ].toSorted()

test('a state that is added can be stored, and has its name', () => {
  const states = factsIn(withAdded)
  expect(states.get(added)).toEqual({
    isStorable: true,
    isFinal: false,
    isWaiting: true,
    waitsFor: undefined,
    isInRound: false,
    isAnswered: false,
    isUndecided: false,
    isHeld: false,
    children: { always: [], sometimes: ['policy', 'tasks'] },
  })
  expect(factsIn(createChart).has(added)).toBe(false)
  expect(statePath(added)).toBe(added)
})

test('a state is tagged as waiting if it says what it waits for, and where only sub-agents wait', () => {
  const differing = [...agentStates()].flatMap(([path, { isWaiting, waitsFor }]) =>
    isWaiting === (waitsFor !== undefined) ? [] : path,
  )
  expect(differing).toEqual(['ToolExecution.Waiting'])
})

test('a run in a state that is added can be stored, and in one that the chart does not have cannot', () => {
  const text = readFileSync(
    join(import.meta.dirname, `../stored/${snapshotVersion}/plain.AtLimit.json`),
    'utf8',
  )
  const stored = { ...JSON.parse(text), value: added }
  expect(storedFlaw(stored, factsIn(withAdded))).toBeUndefined()
  expect(storedFlaw(stored)).toBe(`its state is "${added}", in which no run can be stored`)
})

test('drawings show a state that is added', () => {
  const chart = withAdded(config)
  expect(namesIn(chart)).toContain(added)
  expect(toMermaid(chart)).toContain(added)
})

test('the path test misses the transitions of a state that is added, until they are taken', () => {
  const chart = withAdded(config)
  const machine = runMachine(chart)
  const missing = (isKnown: boolean): string[] =>
    walkChart({
      ...agentChart,
      variants: [{ chart, machine }],
      options: {
        ...agentChart.options,
        inputs: [{ prompt: 'Go' }],
        events: (snapshot) => {
          if (snapshot.matches(added)) return isKnown ? [{ type: 'steer', text: 'Go on.' }] : []
          const isAtLimit = isKnown && snapshot.matches('AtLimit')
          return [...agentChart.options.events(snapshot), ...(isAtLimit ? [{ type: 'compact' }] : [])]
        },
      },
    }).coverage.missing.filter((name) => /Pondering|AtLimit on compact/.test(name))
  expect(missing(false)).toEqual(['agent.AtLimit on compact', 'agent.Pondering on steer'])
  expect(missing(true)).toEqual([])
})

test('the guide lists every state of the chart', () => {
  expect(documented()).toEqual(namesIn(createChart(config)))
  expect(documented()).not.toEqual(namesIn(withAdded(config)))
})

test('every state says what happens in it', () => {
  const silent = describeMachine(createChart(config)).states.filter(
    ({ parent, description = '' }) => parent !== null && description === '',
  )
  expect(silent).toEqual([])
})
