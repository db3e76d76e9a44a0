import type { AnyStateMachine } from 'xstate'
import type { Exit, ModelOptions } from '../../src/testing/checkModel.ts'
import { agentNever, agentPaths, charts as agents } from './agentPaths.ts'
import { decision, decisionPaths } from './decisionPaths.ts'
import { reasoning, reasoningPaths } from './reasoningPaths.ts'
import { reflection, reflectionPaths } from './reflectionPaths.ts'
import { abortedRun } from './runEvents.ts'
import { typedMachines, typedPaths } from './typedOutputPaths.ts'

/** A chart, the machines that were built from it, and what is known of its graph. */
export type TestedChart = {
  id: string
  machines: readonly AnyStateMachine[]
  options: ModelOptions<AnyStateMachine>
  /** The states it may end in. */
  finals: readonly string[]
}

const abort = { type: 'abort', reason: 'enough' }
const threeEnds = ['Complete', 'Failed', 'Aborted']

/** What is sent to the whole goes to the run that is under way, and the run ends. */
const runAborts: Exit<AnyStateMachine> = { events: [abort, abortedRun], leadsTo: 'Aborted' }

export const agentChart: TestedChart = {
  id: 'agent',
  machines: agents,
  options: { ...agentPaths, exits: [{ events: [abort], leadsTo: 'Aborted' }], never: agentNever },
  finals: threeEnds,
}

export const typedChart: TestedChart = {
  id: 'typed-output',
  machines: typedMachines,
  options: { ...typedPaths, exits: [runAborts] },
  finals: threeEnds,
}

export const reasoningChart: TestedChart = {
  id: 'reasoning',
  machines: [reasoning],
  options: { ...reasoningPaths, exits: [runAborts] },
  finals: threeEnds,
}

export const reflectionChart: TestedChart = {
  id: 'reflection',
  machines: [reflection],
  options: { ...reflectionPaths, exits: [runAborts] },
  finals: threeEnds,
}

/** Its failures end as errors of the actor. What follows the choice or the failure is over in the next task. */
export const decisionChart: TestedChart = {
  id: 'decision',
  machines: [decision],
  options: {
    ...decisionPaths,
    isEnd: ({ status }) => status !== 'active',
    exits: [
      {
        ...runAborts,
        leadsTo: 'Failed',
        when: (snapshot) => snapshot.matches('Asking') || snapshot.matches('Reminding'),
      },
    ],
  },
  finals: ['Decided'],
}

export const allCharts: readonly TestedChart[] = [
  agentChart,
  typedChart,
  reasoningChart,
  reflectionChart,
  decisionChart,
]
