/** A parent machine with an agent for each outermost state in which a run can be stored, and one whose snapshot is refused. */
import { assign, fromPromise, sendTo, setup } from 'xstate'
import { Agent, type AgentInput, type AgentOptions, type AgentOutput, tool } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { overflow, talk } from './compactedRuns.ts'

/** `before`: every run stops in its state. `after`: it comes to its end from there. */
export type Time = 'before' | 'after'

const done: ScriptTurn = 'Done.'
const hangs: ScriptTurn = [{ hang: true }]
const calls = (name: string): ScriptTurn => [{ toolCall: { id: 'c', name, arguments: { prompt: 'x' } } }]
const approved = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })
const external = tool({ name: 'fetch', description: 'Fetches' })

/** The turns of a model: until its run is stored, and from there on. */
const played = (time: Time, before: ScriptTurn[], after: ScriptTurn[], options: AgentOptions = {}): Agent =>
  new Agent(scriptedModel(time === 'before' ? before : after), options)

/** The agents, by the state in which each of them is stored. */
const agentsAt = (time: Time) => {
  const helper = played(time, [calls('erase')], [done], { tools: [approved] })
  const worker = played(time, [hangs], [done])
  const slow = tool({
    name: 'slow',
    description: 'Works',
    onInterrupted: 'rerun',
    execute: () => (time === 'before' ? new Promise(() => {}) : 'worked'),
  })
  const check = fromPromise(() => (time === 'before' ? new Promise(() => {}) : Promise.resolve()))
  const policy = setup({ actors: { check } }).createMachine({
    initial: 'Open',
    states: {
      Open: { on: { 'pay.call': 'Checking' } },
      Checking: { tags: 'hold', invoke: { src: 'check', onDone: 'Open' } },
    },
  })
  const pay = tool({ name: 'pay', description: 'Pays', execute: () => 'paid' })
  const busy: ScriptTurn = [{ error: { message: 'busy', retryable: true } }]
  const retry = { maxRetries: 1, initialDelayMs: 60_000 }
  return {
    Requesting: played(time, [hangs], [done]),
    Streaming: played(time, [[{ text: 'Do' }, { hang: true }]], [done]),
    BackingOff: played(time, [busy], [done], { retry }),
    AwaitingApproval: played(time, [calls('erase')], [done], { tools: [approved] }),
    AwaitingTools: played(time, [calls('fetch')], [done], { tools: [external] }),
    Working: played(time, [calls('slow')], [done], { tools: [slow] }),
    Waiting: played(time, [calls('help')], [done], {
      tools: [helper.asTool({ name: 'help', description: 'Helps' })],
    }),
    AwaitingTasks: played(time, [calls('work'), 'Started.'], [done, done], {
      tools: [worker.asTool({ name: 'work', description: 'Works', background: true })],
    }),
    AtLimit: played(time, [calls('slow')], [done], {
      tools: [{ ...slow, execute: () => 'worked' }],
      limits: { steps: 1 },
      atLimit: 'ask',
    }),
    Summarising: played(time, [overflow(), hangs], ['A summary.', done]),
    Holding: played(time, [calls('pay')], [done], { tools: [pay], policy }),
    Refused: played(time, [hangs], [done]),
  }
}

export const childNames = Object.keys(agentsAt('before')) as (keyof ReturnType<typeof agentsAt>)[]

type Child = (typeof childNames)[number]

const commands = {
  AwaitingApproval: { type: 'tool.approve', callId: 'c' },
  AwaitingTools: { type: 'tool.answer', callId: 'c', result: 'fetched' },
  Waiting: { type: 'tool.approve', callId: 'c/c' },
  AtLimit: { type: 'tool.approve', callId: 'limit', arguments: { steps: 5 } },
} as const

export const parentAt = (time: Time) => {
  const actors = Object.fromEntries(
    Object.entries(agentsAt(time)).map(([name, { machine }]) => [name, machine]),
  )
  const input = (name: Child): AgentInput => ({
    prompt: 'Go on.',
    ...(name === 'Summarising' && { history: talk }),
  })
  const machine = setup({
    types: { context: {} as { outputs: Record<string, AgentOutput>; errors: Record<string, string> } },
    actors,
  })
  return machine.createMachine({
    context: { outputs: {}, errors: {} },
    type: 'parallel',
    on: {
      decide: {
        actions: Object.entries(commands).map(([name, command]) => sendTo(name, command)),
      },
    },
    states: Object.fromEntries(
      childNames.map((name) => [
        name,
        {
          initial: 'Asking',
          states: {
            Asking: {
              invoke: {
                id: name,
                src: name,
                input: () => input(name),
                onDone: {
                  target: 'Over',
                  actions: assign({
                    outputs: ({ context, event }) => ({ ...context.outputs, [name]: event.output }),
                  }),
                },
                onError: {
                  target: 'Over',
                  actions: assign({
                    errors: ({ context, event }) => ({ ...context.errors, [name]: String(event.error) }),
                  }),
                },
              },
            },
            Over: { type: 'final' as const },
          },
        },
      ]),
    ),
  })
}
