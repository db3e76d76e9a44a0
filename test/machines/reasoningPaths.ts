import type { AnyStateMachine } from 'xstate'
import {
  createPhasedChart,
  createPhasedMachine,
  orchestratorParts,
  reasoningPhases,
} from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Tested } from './charts.ts'
import { fromRun, runEvents } from './runEvents.ts'

const phases = reasoningPhases(orchestratorParts({ model: scriptedModel([]) }))

export const reasoning: Tested = { chart: createPhasedChart(phases), machine: createPhasedMachine(phases) }

export const reasoningPaths: PathOptions<AnyStateMachine> = {
  inputs: [{ prompt: 'hi' }],
  events: () => runEvents('ok'),
  key: ({ value, status, context: { failure, abortReason } }) =>
    JSON.stringify([value, status, failure?.name, abortReason]),
  from: fromRun,
}
