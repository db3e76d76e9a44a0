import { createAgentMachine, createReflectionMachine } from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { fromRun, runEvents } from './runEvents.ts'

const run = createAgentMachine({ model: scriptedModel([]) })

export const reflection = createReflectionMachine({
  prompts: { critique: 'c', revision: 'r' },
  maxRounds: 2,
  isContent: (critique) => critique === 'good',
  author: run,
  critic: run,
})

export const reflectionPaths: PathOptions<typeof reflection> = {
  inputs: [{ prompt: 'hi' }],
  events: (snapshot) => (snapshot.matches('Critique') ? runEvents('good', 'bad') : runEvents('ok')),
  key: ({ value, status, context: { round, failure, abortReason } }) =>
    JSON.stringify([value, status, round, failure?.name, abortReason]),
  from: fromRun,
}
