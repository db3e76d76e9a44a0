import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { heldAnswer, restartChunk, resultEvent } from '../agent/announcements.ts'
import { assign, enqueueActions, stopChild } from '../agent/chartActions.ts'
import { brokenPart, totalTimeout } from '../agent/failures.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import * as tasks from '../tasks/tasks.ts'
import * as results from '../tools/results.ts'
import { toolsOf } from '../tools/runTools.ts'
import { type Gate, questionAt } from './questions.ts'
import * as verdicts from './verdicts.ts'

/** The actions of the chart that ask the policy, and those that follow from its verdicts. */
export const policyActions = (config: () => ResolvedConfig, policy: ResolvedConfig['policy']) => {
  return {
    askPolicy: enqueueActions(({ context, self, enqueue }, { gate }: { gate: Gate }) => {
      if (policy) enqueue.sendTo('policy', questionAt(gate, policy, context, toolsOf(config(), self)))
    }),
    takeVerdicts: enqueueActions(({ context, enqueue }, judged: verdicts.JudgedGate) => {
      for (const each of verdicts.verdictEvents(context, judged)) enqueue.emit(each)
      if (context.options.steering) enqueue.assign(verdicts.admittedSteering(context, judged.answer))
    }),
    /** The policy has started from it. */
    forgetOldPolicy: assign(({ context: { options } }) => {
      const { policy: _, ...rest } = options
      return { options: rest }
    }),
    decideCalls: enqueueActions(({ context, self, enqueue }, { answer }: verdicts.JudgedGate) => {
      if (!policy) return
      const decided = verdicts.decidedRound(policy, context, toolsOf(config(), self), answer)
      enqueue.assign({ round: decided.round })
      for (const result of decided.results) enqueue.emit(resultEvent(result))
    }),
    withholdResults: assign(({ context }, { answer }: verdicts.JudgedGate) => ({
      round: verdicts.shownRound(context, answer),
    })),
    refuseAnswer: enqueueActions(({ context, enqueue }, { answer }: verdicts.JudgedGate) => {
      enqueue.assign(verdicts.refusedAnswer(context, answer))
      enqueue.emit({ type: 'retry', attempt: 0, delayMs: 0, restart: true, error: null })
      enqueue.emit(restartChunk())
    }),
    releaseAnswer: enqueueActions(({ context, enqueue }) => {
      if (!policy?.holdsChunks) return
      for (const each of heldAnswer(context)) enqueue.emit(each)
    }),
    /** An accepted answer is not judged again if the user has steered. */
    noteAccepted: assign(({ context: { options, messages } }) => ({
      options: { ...options, accepted: messages.length },
    })),
    /** A run that ends without an answer: its policy has not accepted what the model wrote beside its calls. */
    refuseTexts: assign(({ context }) => {
      const isTyped = context.options.outputSchema !== null && results.isRunEnded(context)
      return policy && !isTyped ? verdicts.withoutUnaccepted(policy, context) : {}
    }),
    noteRefusal: assign((_, judged: verdicts.JudgedGate) => ({
      failure: verdicts.policyRefusal(judged),
    })),
    dismissPolicy: stopChild('policy'),
    notePolicyFailure: assign((_, { error }: { error: unknown }) => ({
      failure: brokenPart(error, 'Judging'),
    })),
    noteHoldTimeout: assign(({ context: { deadlineAt } }, { at }: { at: number }) => ({
      failure:
        deadlineAt !== null && at >= deadlineAt
          ? totalTimeout(config().totalMs)
          : verdicts.policyTimeout(policy?.holdMs ?? 0),
    })),
    deliverJudged: assign(({ context }, { answer }: verdicts.JudgedGate) =>
      tasks.deliverResult(context, verdicts.withheldResult(context, answer)),
    ),
  }
}

/** The child that the policy is. One that breaks ends the run in any state: it never allows anything by failing. */
export const policyChild = deepFreeze({
  id: 'policy',
  src: 'policy',
  input: ({ context: { options } }: { context: StreamingState }) => ({
    id: options.id,
    policy: options.policy ?? null,
  }),
  onError: {
    target: '.Failed',
    actions: {
      type: 'notePolicyFailure',
      params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }),
    },
  },
})
