import { type AnyEventObject, assign, createActor, initialTransition, setup, transition } from 'xstate'
import { type AgentOutput, createChart } from '../../machines/index.ts'
import { Agent, type AgentOptions, type Delta, tool } from '../../src/index.ts'
import {
  planPaths,
  replayPath,
  scriptedModel,
  TransitionCoverage,
  withPuppets,
} from '../../src/testing/index.ts'
import { LeapClock } from '../proof/leapClock.ts'
import { inFrench } from './batteryOfOrchestrators.ts'
import { inspection } from './inspected.ts'
import { answering, call, idle, playActor, type Watched } from './watchedRun.ts'

const echo = tool({ name: 'echo', description: 'Says it again', execute: (_, { callId }) => `ran ${callId}` })
const ask = tool({
  name: 'ask',
  description: 'Asks first',
  needsApproval: true,
  execute: () => 'yes',
})

/** Two calls, then text in several reads: whatever the history is, the answer fits it. */
const model = () =>
  answering((results) =>
    results === 0
      ? [{ text: 'Let ' }, { text: 'me look.' }, call('a', 'echo'), call('b', 'ask')]
      : [{ text: 'It ' }, { text: 'is ' }, { text: 'done.' }, { usage: { outputTokens: 3 } }],
  )

const agentOf = (options: AgentOptions = {}) =>
  new Agent(model(), {
    tools: [echo, ask],
    onApproval: async () => true,
    clock: new LeapClock(),
    ...options,
  })

/** Runs an agent as an actor, and goes on from each snapshot that was stored on the way. */
const storedAndRestored = (options: AgentOptions) => async () => {
  const actor = agentOf(options).actor({ prompt: 'Go' })
  const stored: string[] = []
  const shapes: unknown[] = []
  actor.subscribe((snapshot) => {
    stored.push(JSON.stringify(actor.getPersistedSnapshot()))
    shapes.push([snapshot.value, [...snapshot.tags], Object.keys(snapshot.children).toSorted()])
    shapes.push([snapshot.matches('Complete'), snapshot.can({ type: 'abort' }), snapshot.getMeta()])
  })
  const watched = await playActor(actor)
  const restored: Watched[] = []
  const { machine } = agentOf(options)
  for (const text of stored) {
    const snapshot = JSON.parse(text)
    restored.push(await playActor(createActor(machine, { input: {}, snapshot, clock: new LeapClock() })))
  }
  return { watched, shapes, contexts: stored.map((text) => contextsOf(JSON.parse(text))), restored }
}

type Stored = {
  value?: unknown
  context?: unknown
  status: string
  children?: Record<string, { snapshot: Stored }>
}

/** The data of a stored run and of what runs inside of it: what is ours in a snapshot. */
const contextsOf = ({ value, context, status, children = {} }: Stored): unknown => ({
  value,
  context,
  status,
  children: Object.fromEntries(
    Object.entries(children).map(([id, { snapshot }]) => [id, contextsOf(snapshot)]),
  ),
})

const read = (
  text: string,
  seq: number,
): { type: 'model.deltas'; deltas: Delta[]; seq: number; at: number } => ({
  type: 'model.deltas',
  deltas: [{ type: 'text', text }],
  seq,
  at: 6,
})

/** What XState users do with an agent's machine. */
export const batteryOfActors: Record<string, () => Promise<unknown>> = {
  'a run as an actor, inspected': async () => {
    const { seen, inspect } = inspection()
    const { machine } = agentOf()
    const actor = createActor(machine, {
      id: 'mine',
      input: { prompt: 'Go' },
      inspect,
      clock: new LeapClock(),
    })
    return [await playActor(actor), seen]
  },

  'a run, restored from each of its snapshots': storedAndRestored({}),
  'a run of two phases, restored from each of its snapshots': storedAndRestored({ orchestrator: inFrench }),

  'an actor that is stopped emits nothing more': async () => {
    const script = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const actor = new Agent(script).actor({ prompt: 'Go' })
    const emitted: string[] = []
    actor.on('*', ({ type }) => emitted.push(type))
    actor.start()
    await idle()
    actor.stop()
    return [emitted, script.closed, actor.getSnapshot().status]
  },

  'pure transitions': async () => {
    const { machine } = new Agent(scriptedModel([]), { tools: [echo], clock: new LeapClock() })
    const events: AnyEventObject[] = [
      ...['One ', 'two ', 'three.'].map(read),
      { type: 'steer', text: 'Left!' },
      { type: 'model.deltas', deltas: [{ type: 'finish', reason: 'stop', raw: 'stop' }], seq: 3, at: 6 },
      { type: 'model.done', at: 7 },
      { type: 'abort', reason: 'enough' },
    ]
    let [snapshot, actions] = initialTransition(machine, { prompt: 'Go' })
    const steps: unknown[] = []
    const note = () => steps.push([snapshot.value, textIn(snapshot), actions.map(({ type }) => type)])
    note()
    for (const event of events) {
      ;[snapshot, actions] = transition(machine, snapshot, event as never)
      note()
    }
    return [steps, snapshot.output]
  },

  'parts of the user’s own': async () => {
    const log: string[] = []
    const { machine } = agentOf()
    const provided = machine.provide({
      actions: { announceEnd: () => log.push('the end is mine') },
      guards: { isSteered: () => false },
    })
    const actor = createActor(provided, { input: { prompt: 'Go' }, clock: new LeapClock() })
    return [await playActor(actor), log]
  },

  'a part that throws stops what runs': async () => {
    const script = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const { machine } = new Agent(script)
    const provided = machine.provide({
      actions: {
        queueSteering: () => {
          throw new Error('no steering')
        },
      },
    })
    const actor = createActor(provided, { input: { prompt: 'Go' } })
    const watched = await playActor(actor, (event) => {
      if (event.type === 'chunk' && event.output === 'b') actor.send({ type: 'steer', text: 'Left!' })
    })
    await idle()
    return [watched.emitted.map(({ type }) => type), watched.error, script.closed]
  },

  'an agent inside a user’s machine': async () => {
    const { seen, inspect } = inspection()
    const parent = setup({
      types: { context: {} as { answer: AgentOutput | null; changes: number } },
      actors: { agent: agentOf().machine },
    }).createMachine({
      id: 'parent',
      context: { answer: null, changes: 0 },
      initial: 'asking',
      states: {
        asking: {
          invoke: {
            id: 'agent',
            src: 'agent',
            input: { prompt: 'Go' },
            onSnapshot: { actions: assign({ changes: ({ context }) => context.changes + 1 }) },
            onDone: { target: 'answered', actions: assign({ answer: ({ event }) => event.output }) },
          },
        },
        answered: { type: 'final' },
      },
    })
    const actor = createActor(parent, { inspect, clock: new LeapClock() })
    const end = new Promise<void>((resolve) => actor.subscribe({ complete: resolve }))
    actor.start()
    await end
    return [actor.getSnapshot().context, seen]
  },

  'paths through the chart': async () => {
    const chart = withPuppets(createChart({ model: scriptedModel([]), maxSteps: 1 }))
    const coverage = new TransitionCoverage(chart)
    const paths = planPaths(chart, {
      inputs: [{ prompt: 'Go' }],
      events: () => [read('a', 1), { type: 'model.done', at: 7 }, { type: 'abort', reason: 'enough' }],
      key: ({ value }) => JSON.stringify(value),
      from: fromModel,
    })
    for (const path of paths) replayPath(chart, path, { inspect: coverage.inspect, from: fromModel }).stop()
    return [paths.map(({ keys }) => keys), [...coverage.counts]]
  },
}

const fromModel = ({ type }: AnyEventObject) => (type.startsWith('model') ? 'model' : undefined)

const textIn = ({ context }: { context: { answer: { accumulated: { text: string } } } }) =>
  context.answer.accumulated.text
