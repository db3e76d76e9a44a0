import type { AnyStateMachine } from 'xstate'
import type { AnyRunMachine } from '../../machines/logic/wrapLogic.ts'
import type { Exit, ModelOptions } from '../../src/testing/checkModel.ts'
import { agentChildren, agentNever, agentPaths, agents } from './agentPaths.ts'
import { decision, decisionPaths } from './decisionPaths.ts'
import { reasoning, reasoningPaths } from './reasoningPaths.ts'
import { reflection, reflectionPaths } from './reflectionPaths.ts'
import { abortedRun } from './runEvents.ts'
import { typedOutputs, typedPaths } from './typedOutputPaths.ts'

/** A chart, whose graph has the paths, and the machine around it that users get. */
export type Tested = { chart: AnyStateMachine; machine: AnyRunMachine }

/** The snapshots that the real children of a chart store, by id, from their input and the data of the chart. */
export type StoredChildren<Context = never> = Readonly<
  Record<string, (input: { calls: readonly { id: string }[] }, context: Context) => object>
>

/** A chart with some configurations, and what is known of its graph. */
export type TestedChart = {
  id: string
  variants: readonly Tested[]
  options: ModelOptions<AnyStateMachine>
  /** The states it may end in. */
  finals: readonly string[]
  children?: StoredChildren
}

const abort = { type: 'abort', reason: 'enough' }
const threeEnds = ['Complete', 'Failed', 'Aborted']

/** What is sent to the whole goes to the run that is under way, and the run ends. */
const runAborts: Exit<AnyStateMachine> = { events: [abort, abortedRun], leadsTo: 'Aborted' }

export const agentChart: TestedChart = {
  id: 'agent',
  variants: agents,
  options: { ...agentPaths, exits: [{ events: [abort], leadsTo: 'Aborted' }], never: agentNever },
  finals: threeEnds,
  children: agentChildren,
}

export const typedChart: TestedChart = {
  id: 'typed-output',
  variants: typedOutputs,
  options: { ...typedPaths, exits: [runAborts] },
  finals: threeEnds,
}

export const reasoningChart: TestedChart = {
  id: 'reasoning',
  variants: [reasoning],
  options: { ...reasoningPaths, exits: [runAborts] },
  finals: threeEnds,
}

export const reflectionChart: TestedChart = {
  id: 'reflection',
  variants: [reflection],
  options: { ...reflectionPaths, exits: [runAborts] },
  finals: threeEnds,
}

/** Its failures end as errors of the actor. What follows the choice or the failure is over in the next task. */
export const decisionChart: TestedChart = {
  id: 'decision',
  variants: [decision],
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
