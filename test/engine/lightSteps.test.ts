import { describe, expect, test } from 'vitest'
import {
  type AnyActor,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  assign,
  createActor,
  createMachine,
  type InspectionEvent,
  setup,
} from 'xstate'
import { withLightSteps } from '../../machines/interpreter/lightSteps.ts'
import { planPaths, replayPath } from '../../src/testing/paths.ts'
import { withPuppets } from '../../src/testing/puppets.ts'
import { agentChart, batchChart, type TestedChart } from '../machines/charts.ts'

const nameOf = ({ source, eventType, target = [] }: AnyTransitionDefinition): string =>
  `${source.id} on ${eventType} to ${target.map(({ id }) => id)}`

/** Everything an inspector sees of an actor and its children, but for the ids that XState counts up. */
const inspection = () => {
  const seen: unknown[] = []
  const inspect = (event: InspectionEvent) => {
    const actor = String((event.actorRef as AnyActor).id).replace(/^x:\d+$/, 'root')
    switch (event.type) {
      case '@xstate.microstep':
        seen.push([actor, event.type, event._transitions.map(nameOf), JSON.stringify(event.snapshot)])
        break
      case '@xstate.snapshot':
        seen.push([actor, event.type, event.event.type, JSON.stringify(event.snapshot)])
        break
      case '@xstate.action':
        seen.push([actor, event.type, event.action.type])
        break
      default:
        seen.push([actor, event.type])
    }
  }
  return { seen, inspect }
}

type Path = Parameters<typeof replayPath>[1]

/** What replaying a path shows to inspectors and listeners, and what is stored after each event. */
const traceOf = (machine: AnyStateMachine, path: Path, { from }: TestedChart['options']): unknown[] => {
  const { seen, inspect } = inspection()
  const onStep = (actor: AnyActor, index: number) => {
    if (index === 0) actor.on('*', (event) => seen.push(['emitted', event]))
    seen.push(['stored', JSON.stringify(actor.getPersistedSnapshot())])
  }
  replayPath(machine, path, { ...(from && { from }), inspect, onStep }).stop()
  return seen
}

describe('light steps', () => {
  test.each([agentChart, batchChart])(
    'show on every path of $id what XState’s own steps show',
    ({ machines, options }) => {
      for (const machine of machines) {
        // Else both would be XState's own.
        expect(withLightSteps(machine)).not.toBe(machine)
        const plain = withPuppets(machine)
        const light = withPuppets(withLightSteps(machine))
        for (const path of planPaths(plain, options)) {
          expect(traceOf(light, path, options)).toEqual(traceOf(plain, path, options))
        }
      }
    },
    300_000,
  )

  const initial = 'A'
  const states = { A: { on: { go: 'B' } }, B: {} }
  test.each<[string, AnyStateMachine]>([
    ['states at the same time', createMachine({ type: 'parallel', states })],
    ['memory', createMachine({ initial, states: { ...states, C: { type: 'history' } } })],
    ['delays', createMachine({ initial, states: { ...states, C: { after: { 5: 'A' } } } })],
    ['wildcards', createMachine({ initial, states: { ...states, C: { on: { '*': 'A' } } } })],
    [
      'ends within states',
      createMachine({ initial, states: { ...states, C: { initial, states: { A: { type: 'final' } } } } }),
    ],
    [
      'several targets',
      createMachine({ initial, states: { ...states, C: { on: { go: { target: ['A', 'B'] } } } } }),
    ],
    ['actions of another kind', createMachine({ initial, entry: () => {}, states })],
    [
      'unknown guards',
      createMachine({ initial, states: { ...states, C: { on: { go: { guard: 'none', target: 'A' } } } } }),
    ],
    ['children without a name', createMachine({ initial, states, invoke: { src: createMachine({}) } })],
  ])('leave a chart with %s to XState', (_, machine) => {
    expect(withLightSteps(machine)).toBe(machine)
  })

  const counter = setup({
    types: { context: {} as { count: number }, events: {} as { type: 'add' } | { type: 'end' } },
    actions: { add: assign(({ context }) => ({ count: context.count + 1 })) },
    guards: { isAllowed: () => true },
  }).createMachine({
    context: { count: 0 },
    initial: 'On',
    states: {
      On: { on: { add: { guard: 'isAllowed', actions: 'add' }, end: 'Off' } },
      Off: { type: 'final' },
    },
  })

  test('take what `provide` replaces', () => {
    const light = withLightSteps(counter)
    expect(light).not.toBe(counter)
    const counted = (machine: typeof counter) => {
      const actor = createActor(machine).start()
      actor.send({ type: 'add' })
      return actor.getSnapshot().context.count
    }
    expect(counted(light)).toBe(1)
    expect(
      counted(light.provide({ actions: { add: assign(({ context }) => ({ count: context.count + 2 })) } })),
    ).toBe(2)
    expect(counted(light.provide({ guards: { isAllowed: () => false } }))).toBe(0)
    expect(counted(light)).toBe(1)
  })

  test('start where a snapshot of XState’s own steps was stored, and the other way round', () => {
    for (const [first, second] of [
      [counter, withLightSteps(counter)],
      [withLightSteps(counter), counter],
    ] as const) {
      const before = createActor(first).start()
      before.send({ type: 'add' })
      const snapshot = JSON.parse(JSON.stringify(before.getPersistedSnapshot()))
      const after = createActor(second, { snapshot }).start()
      after.send({ type: 'add' })
      after.send({ type: 'end' })
      const { value, status, context } = after.getSnapshot() as AnyMachineSnapshot
      expect([value, status, context]).toEqual(['Off', 'done', { count: 2 }])
    }
  })

  test('leave the snapshot that they start from as it was', () => {
    const actor = createActor(withLightSteps(counter)).start()
    const before = actor.getSnapshot()
    const text = JSON.stringify(before)
    actor.send({ type: 'add' })
    expect(actor.getSnapshot()).not.toBe(before)
    expect(JSON.stringify(before)).toBe(text)
  })
})
