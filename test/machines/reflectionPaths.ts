import type { AnyStateMachine } from 'xstate'
import {
  createPhasedChart,
  createPhasedMachine,
  orchestratorParts,
  reflectionPhases,
} from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Tested } from './charts.ts'
import { fromRun, runEvents } from './runEvents.ts'

const phases = reflectionPhases(orchestratorParts({ model: scriptedModel([]) }), {
  maxRounds: 2,
  isContent: (critique) => critique === 'good',
})

export const reflection: Tested = { chart: createPhasedChart(phases), machine: createPhasedMachine(phases) }

export const reflectionPaths: PathOptions<AnyStateMachine> = {
  inputs: [{ prompt: 'hi' }],
  events: (snapshot) => (snapshot.matches('Critique') ? runEvents('good', 'bad') : runEvents('ok')),
  key: ({ value, status, context: { round, failure, abortReason } }) =>
    JSON.stringify([value, status, round, failure?.name, abortReason]),
  from: fromRun,
}
