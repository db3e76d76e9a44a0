import type { AnyEventObject, AnyStateMachine } from 'xstate'
import {
  type AgentOutput,
  createAgentMachine,
  createDecisionChart,
  type DecisionParts,
} from '../../machines/index.ts'
import { createDecisionMachine } from '../../machines/orchestrators/decisionMachine.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Tested } from './charts.ts'
import { completed, fromRun, runEvents } from './runEvents.ts'

const parts: DecisionParts = {
  run: createAgentMachine({ model: scriptedModel([]) }),
  typeOf: new Map([['guess', 'guess']]),
}

export const decision: Tested = { chart: createDecisionChart(parts), machine: createDecisionMachine(parts) }

const chosen: AgentOutput = {
  ...completed(''),
  messages: [
    { role: 'user', parts: [{ type: 'toolResult', id: 'a', name: 'guess', result: '{"number":7}' }] },
  ],
}

const events: AnyEventObject[] = [
  { type: 'xstate.done.actor.run', output: chosen },
  ...runEvents('I would rather talk.'),
]

const eventsOf: Record<string, AnyEventObject[]> = {
  Asking: events,
  Reminding: events,
  Telling: [{ type: 'xstate.done.actor.nextTask', output: undefined }, { type: 'abort' }],
  Failed: [{ type: 'xstate.error.actor.failure', error: new Error('no decision') }, { type: 'abort' }],
}

export const decisionPaths: PathOptions<AnyStateMachine> = {
  inputs: [{ prompt: 'Which one?' }],
  events: ({ value }) => eventsOf[typeof value === 'string' ? value : (Object.keys(value)[0] ?? '')] ?? [],
  key: ({ value, status, context: { chosen, failure, abortReason } }) =>
    JSON.stringify([value, status, chosen?.type, failure?.name, failure?.state, abortReason]),
  from: fromRun,
}
