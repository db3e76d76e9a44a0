import type { AnyStateMachine } from 'xstate'
import { createPhasedChart, orchestratorParts, reflectionPhases } from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { fromRun, runEvents } from './runEvents.ts'

export const reflection = createPhasedChart(
  reflectionPhases(orchestratorParts({ model: scriptedModel([]) }), {
    maxRounds: 2,
    isContent: (critique) => critique === 'good',
  }),
)

export const reflectionPaths: PathOptions<AnyStateMachine> = {
  inputs: [{ prompt: 'hi' }],
  events: (snapshot) => (snapshot.matches('Critique') ? runEvents('good', 'bad') : runEvents('ok')),
  key: ({ value, status, context: { round, failure, abortReason } }) =>
    JSON.stringify([value, status, round, failure?.name, abortReason]),
  from: fromRun,
}
