import { describe, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { createAgentMachine, createChart } from '../../machines/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import { type ChartDescription, describeMachine } from '../../src/visualize/index.ts'
import { editor, foreignMachines, light, nothing, player, shop } from './foreignMachines.ts'
import { gallery } from './gallery.ts'

const stateOf = ({ states }: ChartDescription, id: string) => states.find((state) => state.id === id)

const fromState = ({ transitions }: ChartDescription, source: string) =>
  transitions.filter((transition) => transition.source === source)

describe('the description of a machine', () => {
  test('is plain JSON', () => {
    for (const machine of foreignMachines) {
      const chart = describeMachine(machine)
      expect(JSON.parse(JSON.stringify(chart))).toEqual(chart)
    }
  })

  test('names every transition as TransitionCoverage does, in the same order', () => {
    for (const machine of [...foreignMachines, ...gallery.map((picture) => picture.machine)]) {
      const names = describeMachine(machine).transitions.map(({ name }) => name)
      expect(names).toEqual([...new TransitionCoverage(machine).counts.keys()])
    }
  })

  test('is the same for the chart alone and for the machine that agents run', () => {
    const options = { model: scriptedModel([]), timeouts: { totalMs: 1 } }
    const chart = describeMachine(createChart(options))
    expect(describeMachine(createAgentMachine(options))).toEqual(chart)
    expect(chart.states.length).toBeGreaterThan(20)
  })

  test('begins with the machine itself, and gives the parent of each state and whether it is initial', () => {
    const chart = describeMachine(light)
    expect(chart.states.map(({ id, parent, type, initial }) => [id, parent, type, initial])).toEqual([
      ['light', null, 'compound', false],
      ['light.green', 'light', 'atomic', true],
      ['light.yellow', 'light', 'atomic', false],
      ['light.red', 'light', 'compound', false],
      ['light.red.walk', 'light.red', 'atomic', true],
      ['light.red.wait', 'light.red', 'atomic', false],
      ['light.red.stop', 'light.red', 'final', false],
      ['light.red.blinking', 'light.red', 'atomic', false],
    ])
    expect(describeMachine(nothing)).toEqual({
      id: 'nothing',
      states: [
        {
          id: 'nothing',
          key: 'nothing',
          parent: null,
          type: 'atomic',
          initial: false,
          tags: [],
          invokes: [],
          entry: [],
          exit: [],
        },
      ],
      transitions: [],
    })
  })

  test('shows regions, history, tags, children and actions', () => {
    expect(stateOf(describeMachine(editor), 'editor')).toMatchObject({ type: 'parallel' })
    expect(stateOf(describeMachine(editor), 'editor.style')).toMatchObject({
      type: 'compound',
      initial: false,
    })
    const chart = describeMachine(player)
    expect(stateOf(chart, 'player.playing.last')).toMatchObject({ type: 'history', history: 'shallow' })
    expect(stateOf(chart, 'player.playing.deepest')).toMatchObject({ type: 'history', history: 'deep' })
    expect(stateOf(chart, 'player.loading')).toMatchObject({
      description: 'Fetches the track.',
      tags: ['busy', 'network'],
      invokes: [{ id: '0.player.loading', src: 'load', label: 'load' }],
    })
    expect(stateOf(chart, 'player.playing')).toMatchObject({
      entry: ['start', 'raise TICK', 'emit started'],
      exit: ['stop'],
    })
  })

  test('leaves out the actions that XState adds for a delay', () => {
    expect(stateOf(describeMachine(light), 'light.green')).toMatchObject({ entry: [], exit: [] })
  })
})

describe('the transitions of a description', () => {
  test('put a delay, the end of a child and the end of a group into words', () => {
    const chart = describeMachine(light)
    expect(fromState(chart, 'light.green').map(({ event, label }) => [event, label])).toEqual([
      ['xstate.after.1000.light.green', 'after 1 s'],
    ])
    expect(fromState(chart, 'light.yellow').map(({ label, guard }) => [label, guard])).toEqual([
      ['after 500 ms', 'isWorkday'],
      ['after slow', undefined],
    ])
    expect(fromState(chart, 'light.red').map(({ label }) => label)).toEqual(['done'])
    expect(fromState(chart, 'light.red.walk').map(({ label }) => label)).toEqual(['COUNT', 'after 1.5 min'])
    expect(fromState(describeMachine(player), 'player.loading').map(({ label }) => label)).toEqual([
      'done: load',
      'error: load',
      'error: load',
      'snapshot: load',
    ])
  })

  test('distinguish children by their ids', () => {
    const chart = describeMachine(gallery[0]?.machine ?? nothing)
    expect(chart.transitions.map(({ label }) => label)).toEqual(
      expect.arrayContaining(['error: model', 'done: toolExecutor', 'error: toolExecutor']),
    )
  })

  test('put guards into words: parameters, not, and, or, the state that another region is in', () => {
    const guards = [...describeMachine(player).transitions, ...describeMachine(editor).transitions].flatMap(
      ({ guard }) => (guard === undefined ? [] : [guard]),
    )
    expect(guards).toEqual([
      'inline',
      'isLong(seconds: 30)',
      'not isMuted and (isMuted or isMuted)',
      'in style.bold',
    ])
  })

  test('keep wildcards, and name the one for everything', () => {
    expect(fromState(describeMachine(light), 'light').map(({ event, label }) => [event, label])).toEqual([
      ['POWER_CUT', 'POWER_CUT'],
      ['sensor.*', 'sensor.*'],
    ])
    expect(fromState(describeMachine(editor), 'editor').map(({ event, label }) => [event, label])).toEqual([
      ['RESET', 'RESET'],
      ['*', 'any event'],
    ])
  })

  test('have no event and no label when they happen by themselves', () => {
    const [always] = fromState(describeMachine(shop), 'shop.checkout.address.typed').slice(-1)
    expect(always).toMatchObject({
      name: 'shop.checkout.address.typed always',
      event: '',
      label: '',
      guard: 'isKnown',
      kind: 'external',
    })
  })

  test('lead nowhere, elsewhere, to several states, or back into the state that is left', () => {
    const kinds = (chart: ChartDescription, source: string) =>
      fromState(chart, source).map(({ event, targets, kind }) => [event, targets, kind])
    expect(kinds(describeMachine(editor), 'editor')).toEqual([
      ['RESET', ['editor.style.plain', 'editor.list.none'], 'external'],
      ['*', [], 'internal'],
    ])
    expect(kinds(describeMachine(light), 'light')).toEqual([
      ['POWER_CUT', ['light.red.blinking'], 'reenter'],
      ['sensor.*', [], 'internal'],
    ])
    expect(kinds(describeMachine(player), 'player.paused')).toEqual([
      ['PLAY', ['player.playing.last'], 'external'],
      ['RESUME', ['player.playing.deepest'], 'external'],
    ])
  })

  test('name their actions, XState’s own by what they do', () => {
    const machine = createMachine({
      id: 'named',
      on: {
        GO: {
          description: 'Off we go.',
          actions: ['plain', { type: 'withParams', params: { n: 1 } }, function own() {}, () => {}],
        },
      },
    })
    expect(describeMachine(machine).transitions).toMatchObject([
      { description: 'Off we go.', actions: ['plain', 'withParams(n: 1)', 'own', 'inline'] },
    ])
  })
})
