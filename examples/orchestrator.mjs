// An orchestrator of your own: asks for shorter and shorter answers, until one is short enough.
import { Agent } from 'statewire'
import { createPhasedMachine, historyOf } from 'statewire/machines'
import { scriptedModel } from 'statewire/testing'

const shortEnough = {
  providerHint: 'short-enough',
  create: ({ lifecycle }) =>
    createPhasedMachine({
      id: 'short-enough',
      data: { tries: 0 },
      phases: {
        Answering: {
          run: lifecycle(),
          label: 'first',
          input: ({ input }) => input,
          isAnswer: true,
          next: [{ when: 'isShort', to: 'Complete' }, { to: 'Shortening' }],
        },
        Shortening: {
          run: lifecycle({ tools: [] }),
          label: 'shorter',
          input: (state) => ({ history: historyOf(state), prompt: 'Again, in fewer words.' }),
          isAnswer: true,
          next: [
            { when: 'isShort', to: 'Complete' },
            { when: 'isTired', to: 'Complete' },
            { to: 'Shortening', take: 'countTry' },
          ],
        },
      },
      guards: {
        isShort: (_, { output }) => output.length < 40,
        isTired: ({ tries }) => tries >= 2,
      },
      takes: {
        countTry: ({ tries }) => ({ change: { tries: tries + 1 } }),
      },
    }),
}

const model = scriptedModel([
  'A statechart is a state machine with hierarchy and parallel states.',
  'A statechart is a state machine with nested states.',
  'A nested state machine.',
])
const agent = new Agent(model, { orchestrator: shortEnough })
for await (const { output, metadata } of agent.sendStream('What is a statechart?')) {
  if (output !== '') console.log(`${metadata.phase}: ${output.trim()}`)
}
