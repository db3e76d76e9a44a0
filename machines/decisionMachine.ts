import { assign, enqueueActions, forwardTo, fromPromise, setup } from 'xstate'
import { type ErrorData, errorDataOf, errorFrom } from '../src/messages/errors.ts'
import type { JsonObject } from '../src/messages/json.ts'
import { type ChatMessage, type Part, toolResultsOf } from '../src/messages/messages.ts'
import { parseArguments } from '../src/model/toolArguments.ts'
import type { AgentMachine } from './agentMachine.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from './events.ts'
import { brokenIn, commands, isRunEnd, outputOf } from './phase.ts'
import type { RunEmitted } from './reportToParent.ts'

/** An event as the model chose it: its type, and the payload that fits its schema. */
export type ChosenEvent = JsonObject & { type: string }

/** The question that a decision puts to the model. */
export type DecisionQuestion = {
  prompt: string | Part[]
  history?: ChatMessage[]
  /** The events that make sense now; default all. */
  allowed?: readonly string[]
}

type DecisionState = {
  question: DecisionQuestion
  /** What was said before the reminder; empty until then. */
  said: ChatMessage[]
  isReminded: boolean
  chosen: ChosenEvent | null
  failure: ErrorData | null
}

export type DecisionParts = {
  /** The run that chooses: it has one tool for each event, which ends it. */
  run: AgentMachine
  /** The event types by the names of their tools. */
  typeOf: ReadonlyMap<string, string>
}

/** Lets a model choose the next event of the machine that invoked it. */
export const createDecisionMachine = ({ run, typeOf }: DecisionParts) =>
  setup({
    types: {
      context: {} as DecisionState,
      input: {} as DecisionQuestion,
      output: {} as ChosenEvent,
      events: {} as AgentCommand | RunEmitted,
      emitted: {} as AgentEmitted,
    },
    actors: { run, nextTask, failure },
    guards: {
      isIncomplete: (_: unknown, { status }: AgentOutput) => status !== 'complete',
      hasChosen: (_: unknown, output: AgentOutput) => choiceOf(output, typeOf) !== null,
      mayRemind: ({ context }) => !context.isReminded,
    },
    actions: {
      forward: forwardTo('run'),
      relay: enqueueActions(({ event, enqueue }) => {
        if (event.type === 'run.emitted' && !isRunEnd(event.emitted)) enqueue.emit(event.emitted)
      }),
      takeFailure: assign((_, output: AgentOutput) => ({ failure: failureOf(output) })),
      takeChoice: assign((_, output: AgentOutput) => ({ chosen: choiceOf(output, typeOf) })),
      remind: assign((_, { messages }: AgentOutput) => ({ said: messages, isReminded: true })),
      noteSilence: assign((_, { output }: AgentOutput) => ({
        failure: {
          name: 'OutputValidationError' as const,
          message: `The model chose none of the events ${[...typeOf.values()].join(', ')}.`,
          rawOutput: output,
        },
      })),
      noteBroken: assign((_, { error, state }: { error: unknown; state: string }) => ({
        failure: { ...errorDataOf(error), orchestrator: 'decision', state },
      })),
      tellParent: enqueueActions(({ context, self, enqueue }) => {
        if (self._parent && context.chosen) enqueue.sendTo(self._parent, context.chosen)
      }),
    },
  }).createMachine({
    id: 'decision',
    context: ({ input }) => ({
      question: input,
      said: [],
      isReminded: false,
      chosen: null,
      failure: null,
    }),
    initial: 'Asking',
    output: ({ event }) => event.output as ChosenEvent,

    states: {
      Asking: {
        invoke: {
          id: 'run',
          src: 'run',
          input: ({ context }) => inputOf(context, typeOf),
          onDone: [
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
            {
              guard: 'mayRemind',
              target: 'Asking',
              reenter: true,
              actions: { type: 'remind', params: outputOf },
            },
            { target: 'Failed', actions: { type: 'noteSilence', params: outputOf } },
          ],
          onError: brokenIn('Asking'),
        },
        on: { ...commands, 'run.emitted': { actions: 'relay' } },
      },

      // A parent that leaves its state on the event stops this actor: it must not hear of its end as well, because
      // a decision that it may have invoked anew goes by the same id.
      Telling: {
        entry: 'tellParent',
        invoke: { id: 'nextTask', src: 'nextTask', onDone: 'Decided' },
      },

      Decided: { type: 'final', output: ({ context }) => context.chosen },

      // A machine cannot end in an error by itself: a child that it does not listen to can do that for it.
      Failed: {
        invoke: { id: 'failure', src: 'failure', input: ({ context }) => context.failure },
      },
    },
  })

const nextTask = fromPromise(async () => {})

const failure = fromPromise<never, ErrorData | null>(({ input }) =>
  Promise.reject(errorFrom(input ?? errorDataOf('The decision failed without a reason.'))),
)

/** The question; the second time, a reminder of what it is about. */
const inputOf = (
  { question: { prompt, history = [] }, said, isReminded }: DecisionState,
  typeOf: ReadonlyMap<string, string>,
): AgentInput => {
  if (!isReminded) return { prompt, history }
  const names = [...typeOf.keys()].join(', ')
  return {
    history: [...history, ...said],
    prompt: `You have not chosen yet. Call exactly one of these tools, with arguments that fit it: ${names}.`,
  }
}

/** The first event that the model chose properly. */
const choiceOf = ({ messages }: AgentOutput, typeOf: ReadonlyMap<string, string>): ChosenEvent | null => {
  for (const { name, result, isError } of messages.flatMap(toolResultsOf)) {
    const type = typeOf.get(name)
    const { arguments: payload, argumentsError } = parseArguments(result)
    if (type !== undefined && !isError && argumentsError === undefined) return { ...payload, type }
  }
  return null
}

const failureOf = (output: AgentOutput): ErrorData | null => {
  if (output.status === 'failed') return output.error
  if (output.status === 'complete') return null
  return { name: 'AbortedError', message: `The decision was aborted: ${output.reason || 'no reason given'}` }
}
