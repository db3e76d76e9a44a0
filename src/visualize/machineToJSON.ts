import { type ChartState, type ChartTransition, describeMachine } from './describeMachine.ts'
import type { Charted } from './transitions.ts'

/** A transition of a {@link MachineJson}. */
export type TransitionJson = {
  target?: string | string[]
  guard?: { type: string }
  actions?: { type: string }[]
  reenter?: true
  description?: string
}

/** A child of a state of a {@link MachineJson}. */
export type InvokeJson = {
  id: string
  src: string
  onDone?: TransitionJson[]
  onError?: TransitionJson[]
  onSnapshot?: TransitionJson[]
}

/** A state of a {@link MachineJson}. */
export type StateJson = {
  type?: 'parallel' | 'final' | 'history'
  history?: 'shallow' | 'deep'
  initial?: string
  description?: string
  tags?: string[]
  entry?: { type: string }[]
  exit?: { type: string }[]
  invoke?: InvokeJson[]
  on?: Record<string, TransitionJson[]>
  after?: Record<string, TransitionJson[]>
  always?: TransitionJson[]
  onDone?: TransitionJson[]
  states?: Record<string, StateJson>
}

/** A machine as JSON, in the form that XState 5 takes as a config and XState 6 as `MachineJSON`. */
export type MachineJson = StateJson & { id: string }

/**
 * The structure of any XState 5 machine as JSON, for Stately Studio and other tools: `createMachine(json)` of XState 5 and
 * `createMachineFromConfig(json)` of XState 6 read it. Guards, actions and children are there by name; functions, such as
 * the input of a child, are not.
 *
 * @example await writeFile('agent.json', JSON.stringify(machineToJSON(agent.chart)))
 */
export const machineToJSON = (machine: Charted): MachineJson => {
  const { id, states, transitions } = describeMachine(machine)
  const jsonOf = (state: ChartState): StateJson => {
    const inner = states.filter(({ parent }) => parent === state.id)
    const own = transitions.filter(({ source }) => source === state.id)
    return {
      ...ofState(state, inner),
      ...ofTransitions(state, own),
      ...(inner.length > 0 && { states: Object.fromEntries(inner.map((each) => [each.key, jsonOf(each)])) }),
    }
  }
  const [root] = states
  return { id, ...(root && jsonOf(root)) }
}

const ofState = (state: ChartState, inner: readonly ChartState[]): StateJson => {
  const { type, history, description, tags, entry, exit } = state
  const initial = inner.find((each) => each.initial)
  return {
    ...(type !== 'atomic' && type !== 'compound' && { type }),
    ...(history && { history }),
    ...(initial && { initial: initial.key }),
    ...(description !== undefined && { description }),
    ...(tags.length > 0 && { tags }),
    ...(entry.length > 0 && { entry: entry.map(named) }),
    ...(exit.length > 0 && { exit: exit.map(named) }),
  }
}

const ofTransitions = ({ id, invokes }: ChartState, own: readonly ChartTransition[]): StateJson => {
  const of = (event: string) => own.filter((each) => each.event === event).map(ofTransition)
  const list = (key: string, found: TransitionJson[]) => (found.length > 0 ? { [key]: found } : {})
  const invoke: InvokeJson[] = invokes.map((child) => ({
    id: child.id,
    src: child.src,
    ...list('onDone', of(`xstate.done.actor.${child.id}`)),
    ...list('onError', of(`xstate.error.actor.${child.id}`)),
    ...list('onSnapshot', of(`xstate.snapshot.${child.id}`)),
  }))
  const events = [...new Set(own.map(({ event }) => event))]
  const delays = events.filter((event) => event.startsWith('xstate.after.'))
  const plain = events.filter((event) => event !== '' && !event.startsWith('xstate.'))
  const delayOf = (event: string) => event.slice('xstate.after.'.length, -id.length - 1)
  return {
    ...(invoke.length > 0 && { invoke }),
    ...(plain.length > 0 && { on: Object.fromEntries(plain.map((event) => [event, of(event)])) }),
    ...(delays.length > 0 && {
      after: Object.fromEntries(delays.map((event) => [delayOf(event), of(event)])),
    }),
    ...list('always', of('')),
    ...list('onDone', of(`xstate.done.state.${id}`)),
  }
}

const ofTransition = ({ targets, guard, actions, kind, description }: ChartTransition): TransitionJson => {
  const ids = targets.map((target) => `#${target}`)
  const [only, ...others] = ids
  return {
    ...(only !== undefined && { target: others.length > 0 ? ids : only }),
    ...(guard !== undefined && { guard: named(guard) }),
    ...(actions.length > 0 && { actions: actions.map(named) }),
    ...(kind === 'reenter' && { reenter: true }),
    ...(description !== undefined && { description }),
  }
}

const named = (type: string): { type: string } => ({ type })
