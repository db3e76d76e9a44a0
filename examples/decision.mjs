// A machine of your own whose next event a model chooses: a number-guessing game, with no key and no network.
import { createDecision } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { assign, createActor, setup, waitFor } from 'xstate'
import { z } from 'zod'

const secret = Math.min(100, Math.max(1, Number(process.argv[2] ?? 37)))
const simulator = await startSimulator()

const decide = createDecision({
  model: 'openai:simulator',
  baseUrl: simulator.baseUrl,
  events: {
    guess: { description: 'Guess the number', input: z.object({ number: z.int() }) },
    give_up: { description: 'Stop playing' },
  },
})

const game = setup({
  actors: { decide },
  guards: {
    isRight: ({ context }) => context.guess === secret,
    isTooLow: ({ context }) => context.guess < secret,
  },
  actions: {
    takeGuess: assign({ guess: ({ event }) => event.number }),
    tellGuess: ({ context }) => console.log(`  Is it ${context.guess}?`),
    raiseLow: assign({ low: ({ context }) => context.guess + 1 }),
    lowerHigh: assign({ high: ({ context }) => context.guess - 1 }),
  },
}).createMachine({
  context: { low: 1, high: 100, guess: 0 },
  initial: 'Guessing',
  states: {
    Guessing: {
      // The model sees only the events that are allowed; the one it chooses arrives as an event of this machine.
      invoke: {
        src: 'decide',
        input: ({ context: { low, high } }) => ({
          prompt: `Guess my number: it lies between ${low} and ${high}.`,
          allowed: low === 1 && high === 100 ? ['guess'] : ['guess', 'give_up'],
        }),
        onError: { target: 'Over', actions: ({ event }) => console.error(event.error) },
      },
      on: {
        guess: { target: 'Judging', actions: ['takeGuess', 'tellGuess'] },
        give_up: 'Over',
      },
    },
    Judging: {
      always: [
        { guard: 'isRight', target: 'Won' },
        { guard: 'isTooLow', target: 'Guessing', actions: 'raiseLow' },
        { target: 'Guessing', actions: 'lowerHigh' },
      ],
    },
    Won: { type: 'final' },
    Over: { type: 'final' },
  },
})

console.log(`The number is ${secret}. A built-in simulator plays, by rules, over a real socket.\n`)
const { value } = await waitFor(createActor(game).start(), ({ status }) => status === 'done')
console.log(`\n${value}.`)
await simulator.close()
