import { type AnyStateMachine, assign, enqueueActions, forwardTo, fromPromise, setup } from 'xstate'
import { describeThrown, type ErrorData, errorDataOf, errorFrom } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, type Part, toolResultsOf } from '../../src/messages/messages.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import type { AgentMachine } from '../agent/agentSnapshot.ts'
import type { AgentEmitted, AgentOutput } from '../agent/events.ts'
import { broken } from '../agent/failures.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import type { AnyRunMachine } from '../logic/wrapLogic.ts'
import * as is from '../stored/shape.ts'
import { failureShape } from '../stored/storedRun.ts'
import { snapshotVersion } from '../stored/version.ts'
import { machineOfRuns, outputOf, type Relay, type RunsEvent, runState } from './invokedRun.ts'
import { isRunEnd } from './phasedRun.ts'

/** An event as the model chose it: its type, and the payload that fits its schema. */
export type ChosenEvent = JsonObject & { type: string }

/** The question that a decision puts to the model. */
export type DecisionQuestion = {
  prompt: string | Part[]
  history?: ChatMessage[]
  /** The events that make sense now. Default: all. */
  allowed?: readonly string[]
}

type DecisionState = {
  /** The version of the shape of this data: see `snapshotVersion`. */
  version: string
  question: DecisionQuestion
  /** The conversation before the reminder; empty until then. */
  said: ChatMessage[]
  chosen: ChosenEvent | null
  failure: ErrorData | null
  /** The reason of the abort; null without one. */
  abortReason: string | null
}

/** The parts of the chart of a decision. */
export type DecisionParts = {
  /** The run that chooses: it has one tool for each event, which ends it. */
  run: AgentMachine
  /** The event types by the names of their tools. */
  typeOf: ReadonlyMap<string, string>
}

/** Lets a model choose the next event of the machine that invoked it. */
export const createDecisionMachine = (parts: DecisionParts): AnyRunMachine =>
  machineOfRuns(createDecisionChart(parts), relay, { flawIn: decisionShape, migrations: [] })

const allowedShape = is.listOf(is.text)

const contextShape = is.fields({
  question: is.fields({
    allowed: (name, value) => (value === undefined ? undefined : allowedShape(name, value)),
  }),
  said: is.listOf(is.message),
  chosen: is.orNull(is.fields({ type: is.text })),
  failure: failureShape,
  abortReason: is.orNull(is.text),
})

const decisionShape = ({ context }: Readonly<Record<string, unknown>>): string | undefined =>
  contextShape('', context)

/** Relays what the run emits, except its end: a decision does not end with a chunk. */
const relay: Relay<DecisionState> = (context, emitted) => ({
  context,
  emitted: emitted.filter((each) => !isRunEnd(each)),
})

/** The chart alone. */
export const createDecisionChart = ({ run, typeOf }: DecisionParts): AnyStateMachine =>
  setup({
    types: {
      context: {} as DecisionState,
      input: {} as DecisionQuestion,
      output: {} as ChosenEvent,
      events: {} as RunsEvent,
      emitted: {} as AgentEmitted,
      tags: {} as 'streaming' | 'waiting',
    },
    actors: { run, nextTask, failure },
    guards: {
      isIncomplete: ({ context }: { context: DecisionState }, { status }: AgentOutput) =>
        status !== 'complete' || context.abortReason !== null,
      hasChosen: (_: unknown, output: AgentOutput) => choiceOf(output, typeOf) !== null,
    },
    actions: {
      forward: forwardTo('run'),
      noteAbort: assign((_, { reason = '' }: { reason?: string | undefined }) => ({
        abortReason: describeThrown(reason),
      })),
      relay: enqueueActions(({ context, event, enqueue }, { phase }: { phase: string }) => {
        if (event.type !== 'run.emitted') return
        for (const each of relay(context, event.emitted, phase).emitted) enqueue.emit(each)
      }),
      takeFailure: assign(({ context }, output: AgentOutput) => ({
        failure: failureOf(output, context.abortReason),
      })),
      takeChoice: assign((_, output: AgentOutput) => ({ chosen: choiceOf(output, typeOf) })),
      keepSaid: assign((_, { messages }: AgentOutput) => ({ said: messages })),
      noteSilence: assign((_, { output }: AgentOutput) => ({
        failure: {
          name: 'OutputValidationError' as const,
          message: `The model did not choose any of the events ${[...typeOf.values()].join(', ')}.`,
          rawOutput: output,
        },
      })),
      noteBroken: assign((_, { error, state }: { error: unknown; state: string }) => ({
        failure: broken(error, 'decision', state),
      })),
      sendToParent: enqueueActions(({ context, self, enqueue }) => {
        if (self._parent && context.chosen) enqueue.sendTo(self._parent, context.chosen)
      }),
    },
  }).createMachine({
    id: 'decision',
    context: ({ input }) => ({
      version: snapshotVersion,
      question: input,
      said: [],
      chosen: null,
      failure: null,
      abortReason: null,
    }),
    initial: 'Asking',
    output: ({ event }) => event.output as ChosenEvent,

    states: {
      Asking: runState({
        name: 'Asking',
        src: 'run',
        description: 'The model chooses one of the events that are possible now.',
        input: ({ context: { question } }: { context: DecisionState }) => ({
          prompt: question.prompt,
          history: question.history ?? [],
        }),
        onDone: [...ends, { target: 'Reminding', actions: { type: 'keepSaid', params: outputOf } }],
      }),

      Reminding: runState({
        name: 'Reminding',
        src: 'run',
        description: 'The model did not choose an event: it is asked once more.',
        input: ({ context: { question, said } }: { context: DecisionState }) => ({
          history: [...(question.history ?? []), ...said],
          prompt: reminderOf(typeOf),
        }),
        onDone: [...ends, { target: 'Failed', actions: { type: 'noteSilence', params: outputOf } }],
      }),

      // A parent that leaves its state on the event stops this actor. It must not get a done event as well, because a
      // decision that it invoked again has the same id.
      Telling: {
        description: 'The parent gets the chosen event.',
        entry: 'sendToParent',
        invoke: { id: 'nextTask', src: 'nextTask', onDone: 'Decided' },
      },

      Decided: { type: 'final', output: ({ context }) => context.chosen },

      // A machine cannot end in an error by itself: a child that it does not listen to can do that for it.
      Failed: {
        invoke: { id: 'failure', src: 'failure', input: ({ context }) => context.failure },
      },
    },
  })

/** The ends of a run that need no further question. */
const ends = deepFreeze([
  {
    guard: { type: 'isIncomplete', params: outputOf },
    target: 'Failed',
    actions: { type: 'takeFailure', params: outputOf },
  },
  {
    guard: { type: 'hasChosen', params: outputOf },
    target: 'Telling',
    actions: { type: 'takeChoice', params: outputOf },
  },
])

const nextTask = fromPromise(async () => {})

const failure = fromPromise<never, ErrorData | null>(({ input }) =>
  Promise.reject(errorFrom(input ?? errorDataOf('The decision failed without a reason.'))),
)

const reminderOf = (typeOf: ReadonlyMap<string, string>): string =>
  `You have not chosen yet. Call exactly one of these tools, with arguments that fit it: ${[...typeOf.keys()].join(', ')}.`

/** The first event that the model chose properly. */
const choiceOf = ({ messages }: AgentOutput, typeOf: ReadonlyMap<string, string>): ChosenEvent | null => {
  for (const { name, result, isError } of messages.flatMap(toolResultsOf)) {
    const type = typeOf.get(name)
    const { arguments: payload, argumentsError } = parseArguments(result)
    if (type !== undefined && !isError && argumentsError === undefined) return { ...payload, type }
  }
  return null
}

const failureOf = (output: AgentOutput, abortReason: string | null): ErrorData | null => {
  if (output.status === 'failed') return output.error
  const reason = output.status === 'aborted' ? output.reason : abortReason
  return { name: 'AbortedError', message: `The decision was aborted: ${reason || 'no reason given'}` }
}
