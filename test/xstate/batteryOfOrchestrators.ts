import { type AnyActorRef, assign, createActor, fromPromise, setup } from 'xstate'
import { z } from 'zod'
import { createPhasedMachine, historyOf } from '../../machines/index.ts'
import {
  Agent,
  type AgentInput,
  type AgentOptions,
  type AgentOutput,
  createDecision,
  type Orchestrator,
  reasoningOrchestrator,
  reflectionOrchestrator,
  tool,
} from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { LeapClock } from '../proof/leapClock.ts'
import { inspection } from './inspected.ts'
import { call, collected, idle, outcome, playActor } from './watchedRun.ts'

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})
const careful = tool({
  name: 'get_weather',
  description: 'Asks first',
  needsApproval: true,
  execute: () => '21',
})

const words = (...texts: string[]): ScriptTurn => [
  ...texts.map((text) => ({ text })),
  { usage: { inputTokens: 1, outputTokens: 2 } },
]
const reasons: ScriptTurn[] = [
  words('It is about ', 'Oslo.'),
  words('Warm ', 'or cold.'),
  [{ text: 'Let me look.' }, call('w', 'get_weather', { city: 'Oslo' })],
  words('21 ', 'degrees.'),
  words('It is ', 'warm.'),
]

/** Answers, counts, and says it again in French. */
export const inFrench: Orchestrator = {
  providerHint: 'in-french',
  create: ({ lifecycle }) =>
    createPhasedMachine<{ length: number }>({
      id: 'in-french',
      data: { length: 0 },
      phases: {
        Answering: {
          run: lifecycle(),
          label: 'draft',
          input: ({ input }) => input,
          next: [{ when: 'isShort', to: 'Counting' }, { to: 'Complete' }],
        },
        Counting: {
          step: fromPromise(async () => 7),
          input: () => ({}),
          next: [{ to: 'Translating', take: 'keepLength' }],
        },
        Translating: {
          run: lifecycle({ tools: [] }),
          label: 'answer',
          input: (state) => ({ history: historyOf(state), prompt: 'Again, in French.' }),
          isAnswer: true,
          next: 'Complete',
        },
      },
      guards: { isShort: (_, { output }: AgentOutput) => output.length < 100 },
      takes: { keepLength: (_, length: number) => ({ change: { length } }) },
    }),
}

const agentOf = (turns: ScriptTurn[], options: AgentOptions) =>
  new Agent(scriptedModel(turns), { tools: [weather], clock: new LeapClock(), ...options })

const watched = (turns: ScriptTurn[], orchestrator: Orchestrator) => () =>
  playActor(agentOf(turns, { orchestrator }).actor({ prompt: 'Is it warm in Oslo?' }))

const events = {
  guess: { description: 'Guess the number', input: z.object({ number: z.int() }) },
  give_up: { description: 'Stop playing' },
}

const settled = (actor: AnyActorRef): Promise<void> =>
  new Promise((resolve) => actor.subscribe({ complete: resolve, error: () => resolve() }))

/** A game whose next move the model decides on. */
const game = (turns: ScriptTurn[]) =>
  setup({
    types: {
      context: {} as { guesses: number[] },
      events: {} as { type: 'guess'; number: number } | { type: 'give_up' },
    },
    actors: { decide: createDecision({ model: scriptedModel(turns), events, clock: new LeapClock() }) },
  }).createMachine({
    id: 'game',
    context: { guesses: [] },
    initial: 'playing',
    states: {
      playing: {
        invoke: { id: 'decide', src: 'decide', input: { prompt: 'Which?' }, onError: 'broken' },
        on: {
          guess: {
            target: 'playing',
            reenter: true,
            actions: assign({ guesses: ({ context, event }) => [...context.guesses, event.number] }),
          },
          give_up: 'over',
        },
      },
      over: { type: 'final' },
      broken: { type: 'final' },
    },
    output: ({ context }) => context,
  })

/** Charts made of runs. */
export const batteryOfOrchestrators: Record<string, () => Promise<unknown>> = {
  'reasoning in phases': watched(reasons, reasoningOrchestrator()),
  'reflection until the critic is content': watched(
    [words('Ro', 'ses'), words('Too short.'), words('Red ', 'roses'), words('APPROVED')],
    reflectionOrchestrator(),
  ),
  'phases of the user’s own': watched([words('Hel', 'lo.'), words('Bon', 'jour.')], inFrench),

  'phases, streamed': () =>
    collected(
      agentOf([words('Hel', 'lo.'), words('Bon', 'jour.')], { orchestrator: inFrench }).sendStream('Hi'),
    ),

  'an approval inside a phase, stored and resumed': async () => {
    const options = { orchestrator: reasoningOrchestrator(), tools: [careful] }
    const first = await agentOf(reasons, options).send('Warm?')
    const { pendingApproval, ...rest } = first
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    return [rest, await agentOf(reasons.slice(3), options).resume(stored, { w: true })]
  },

  'an abort between two phases': async () => {
    const actor = agentOf([words('Hello.'), words('Bon', 'jour.')], { orchestrator: inFrench }).actor({
      prompt: 'Hi',
    })
    return playActor(actor, (event) => {
      if (event.type === 'step') actor.send({ type: 'abort', reason: 'enough' })
    })
  },

  'a phase that breaks': () => {
    const hasCalls = () => {
      throw new RangeError('in a guard')
    }
    const broken: Orchestrator = {
      ...inFrench,
      create: (parts) =>
        inFrench.create({ ...parts, lifecycle: () => parts.lifecycle().provide({ guards: { hasCalls } }) }),
    }
    return outcome(agentOf([words('Hello.')], { orchestrator: broken }).send('Hi'))
  },

  'a chart of the user’s as the orchestrator': () => {
    const own: Orchestrator = {
      providerHint: 'own',
      create: ({ lifecycle }) =>
        setup({
          types: { input: {} as AgentInput, output: {} as AgentOutput },
          actors: { run: lifecycle() },
        }).createMachine({
          id: 'own',
          context: ({ input }) => ({ input }),
          initial: 'Asking',
          states: {
            Asking: {
              invoke: { id: 'run', src: 'run', input: ({ context }) => context.input, onDone: 'Done' },
            },
            Done: { type: 'final', output: ({ event }) => event.output },
          },
          output: ({ event }) => event.output as AgentOutput,
        }),
    }
    return agentOf([words('Hello.')], { orchestrator: own }).send('Hi')
  },

  'an agent as a tool of another': async () => {
    const { seen, inspect } = inspection()
    const expert = new Agent(scriptedModel([words('Phy', 'sics.')]), { clock: new LeapClock() })
    const boss = agentOf([[call('e', 'expert', { prompt: 'Why?' })], words('Be', 'cause.')], {
      tools: [expert.asTool({ name: 'expert', description: 'Knows a lot' })],
      inspect,
    })
    return [await boss.send('Why?'), seen]
  },

  'decisions of a machine': async () => {
    const { seen, inspect } = inspection()
    const actor = createActor(
      game([
        [{ text: 'Let me ' }, { text: 'think.' }, call('g', 'guess', { number: 7 })],
        words('Hm.'),
        [call('h', 'guess', { number: 3 })],
        [call('u', 'give_up')],
      ]),
      { inspect },
    )
    const end = settled(actor)
    actor.start()
    await end
    await idle()
    return [actor.getSnapshot().value, actor.getSnapshot().output, seen]
  },

  'a decision that is never made': async () => {
    const actor = createActor(game([words('Hm.'), words('Hm.')]))
    const end = settled(actor)
    actor.start()
    await end
    return [actor.getSnapshot().value, actor.getSnapshot().output]
  },
}
