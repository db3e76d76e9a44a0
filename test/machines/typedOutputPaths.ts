import type { AnyEventObject, SnapshotFrom } from 'xstate'
import {
  createAgentMachine,
  createTypedOutputMachine,
  type TypedOutputStrategy,
} from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { commandEvents, fromRun, runEvents } from './runEvents.ts'

const run = createAgentMachine({ model: scriptedModel([]) })

const typedWith = (strategy: TypedOutputStrategy) =>
  createTypedOutputMachine({
    strategy,
    schema: { jsonSchema: {}, isWrapped: false, validate: (value) => ({ ok: true, value }) },
    run,
    formatter: run,
  })

type Typed = ReturnType<typeof typedWith>

export const typedMachines: Typed[] = [typedWith('twoPhases'), typedWith('native'), typedWith('returnResult')]

const checkEvents: AnyEventObject[] = [
  { type: 'xstate.done.actor.check', output: { json: '{}', problem: '' } },
  { type: 'xstate.done.actor.check', output: { json: '', problem: 'too short' } },
  { type: 'xstate.error.actor.check', error: new Error('broken check') },
  ...commandEvents,
]

const key = ({ value, status, context }: SnapshotFrom<Typed>): string =>
  JSON.stringify([value, status, context.corrections, context.failure?.name, context.abortReason])

export const typedPaths: PathOptions<Typed> = {
  inputs: [{ prompt: 'hi' }],
  events: (snapshot) => (snapshot.matches('Checking') ? checkEvents : runEvents('{}')),
  key,
  from: fromRun,
}
