import type { AnyEventObject, AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import {
  createPhasedChart,
  createPhasedMachine,
  orchestratorParts,
  typedOutputPhases,
} from '../../machines/index.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import type { Tested } from './charts.ts'
import { commandEvents, fromRun, runEvents } from './runEvents.ts'

const tools = [tool({ name: 'look', description: 'Looks', execute: () => 'ok' })]

const typedWith = (profile: Partial<ModelProfile>): Tested => {
  const phases = typedOutputPhases(orchestratorParts({ model: scriptedModel([], { profile }), tools }))
  return { chart: createPhasedChart(phases), machine: createPhasedMachine(phases) }
}

/** In two phases, natively, and through a tool. */
export const typedOutputs: readonly Tested[] = [
  typedWith({ schemaWithTools: false }),
  typedWith({}),
  typedWith({ nativeSchema: false }),
]

const checkEvents: AnyEventObject[] = [
  { type: 'xstate.done.actor.step', output: { json: '{}', asked: '{}', problem: '' } },
  { type: 'xstate.done.actor.step', output: { json: '', asked: '', problem: 'too short' } },
  { type: 'xstate.error.actor.step', error: new Error('broken check') },
  ...commandEvents,
]

const key = ({ value, status, context }: AnyMachineSnapshot): string =>
  JSON.stringify([value, status, context.corrections, context.failure?.name, context.abortReason])

export const typedPaths: PathOptions<AnyStateMachine> = {
  inputs: [{ prompt: 'hi' }],
  events: (snapshot) => (snapshot.matches('Checking') ? checkEvents : runEvents('{}')),
  key,
  from: fromRun,
}
