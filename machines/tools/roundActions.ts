import type { AnyActorRef } from 'xstate'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { announcementOf, askEvent, callEvent, resultEvent } from '../agent/announcements.ts'
import { assign, emit, enqueueActions, newIdFor, stopChild } from '../agent/chartActions.ts'
import type { AgentEvent, CallCommand } from '../agent/events.ts'
import { brokenPart, expiry as expiryFailure } from '../agent/failures.ts'
import { repeatNote, repeatsIn } from '../agent/limits.ts'
import * as run from '../agent/streamingState.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import { hostOf, valuesOf } from '../logic/runEnvironment.ts'
import { recordedTime, timeOf } from '../logic/systemTime.ts'
import { noteTasks } from '../tasks/taskActions.ts'
import * as tasks from '../tasks/tasks.ts'
import * as approvals from './approvals.ts'
import * as expiry from './expiry.ts'
import * as results from './results.ts'
import * as round from './round.ts'
import { noteStep, runEvent, takeStep } from './roundEvents.ts'
import { toolsOf } from './runTools.ts'
import type { ToolServiceOutput } from './toolService.ts'

/** The actions of the chart on the calls of a turn, from the answer that makes them to the message of their results. */
export const roundActions = (config: () => ResolvedConfig) => {
  /** Calls that may run at the same time. A run that is about to be stopped starts no other one: it would be in doubt. */
  const concurrencyIn = (self: AnyActorRef) => (hostOf(self).isStopping?.() ? 0 : concurrencyOf(config()))

  return {
    clearRound: assign({ round: run.noRound }),
    beginRound: enqueueActions(({ context, self, enqueue }) => {
      if (round.currentCalls(context).length === 0) return
      const begun = approvals.beginRound(
        context,
        toolsOf(config(), self),
        config().callsTools,
        valuesOf(self).context,
        newIdFor(config(), self, context)(),
      )
      enqueue.assign({ round: begun })
      for (const result of begun.results.flat()) enqueue.emit(resultEvent(result))
    }),
    /** A model that calls tools although it must not. */
    refuseCalls: enqueueActions(({ context, enqueue }) => {
      if (round.currentCalls(context).length === 0) return
      const refused = results.resultMessage(context)
      enqueue.assign({ ...run.append(context, refused), steering: results.laterSteering(context) })
      for (const each of announcementOf(context.totals.responseId, refused)) enqueue.emit(each)
    }),
    beginWaiting: assign(({ context, self }) => ({
      round: { ...context.round, waitingSince: recordedTime(self) },
    })),
    /** The moments are data of the run, and the timer is its child: both are stored with it. */
    startExpiry: enqueueActions(({ context, self, enqueue }) => {
      const begun = expiry.withDues(context, toolsOf(config(), self), config().policy !== undefined)
      if (begun.due !== undefined || context.round.due !== undefined) enqueue.assign({ round: begun })
      if (begun.due === undefined) return
      enqueue.spawnChild('timer', { id: 'timer', input: { at: expiry.momentAfter(begun) } })
    }),
    stopExpiry: stopChild('timer'),
    awaitNextExpiry: enqueueActions(({ context, enqueue }, { at }: { at: number }) => {
      enqueue.stopChild('timer')
      const next = expiry.momentAfter(context.round, at)
      if (next !== null) enqueue.spawnChild('timer', { id: 'timer', input: { at: next } })
    }),
    expire: enqueueActions(({ context, enqueue }, { at }: { at: number }) => {
      const { change, results } = approvals.expire(context, at)
      enqueue.assign(change)
      for (const result of results) enqueue.emit(resultEvent(result))
    }),
    noteExpiry: assign(({ context }, { at }: { at: number }) => ({
      failure: expiryFailure(
        expiry.expiredAt(context, at).flatMap(({ call, outcome }) => (outcome === 'fail' ? call.name : [])),
      ),
    })),
    wakeUp: enqueueActions(({ context, self, enqueue }) => {
      const woken = expiry
        .sleepsIn(context)
        .map((call) => expiry.wokenResult(context, call, recordedTime(self)))
      enqueue.assign({ round: round.withResults(context.round, woken) })
      for (const result of woken) enqueue.emit(resultEvent(result))
    }),
    askForApprovals: enqueueActions(({ context, enqueue }) => {
      for (const call of approvals.askedCalls(context)) enqueue.emit(askEvent(call))
    }),
    /** A decision on a call of a sub-agent, or of a task. */
    passOn: enqueueActions(({ context, event, enqueue }) => {
      if ('callId' in event && tasks.isForTask(context, event as CallCommand))
        enqueue.sendTo('tasks', event as CallCommand)
      else enqueue.sendTo('toolExecutor', event as CallCommand)
    }),
    askForAnswers: enqueueActions(({ context, enqueue }) => {
      for (const call of approvals.awaitedCalls(context)) enqueue.emit(askEvent(call))
      for (const call of expiry.sleepsIn(context)) enqueue.emit(callEvent(call))
    }),
    endWaiting: assign(({ context, self }) => ({
      deadlineAt:
        context.deadlineAt === null ? null : context.deadlineAt + timeOf(self) - context.round.waitingSince,
    })),
    approve: assign(({ context }, approval: Extract<AgentEvent, { type: 'tool.approve' }>) =>
      approvals.approve(context, approval),
    ),
    reject: enqueueActions(
      ({ context, enqueue }, { callId, reason }: { callId: string; reason?: string | undefined }) => {
        const result = results.rejectedResult(context, callId, reason)
        enqueue.assign({ round: round.withResults(context.round, [result]) })
        enqueue.emit(resultEvent(result))
      },
    ),
    takeAnswer: enqueueActions(
      ({ context, enqueue }, answer: Extract<AgentEvent, { type: 'tool.answer' }>) => {
        const result = results.answeredResult(context, answer)
        enqueue.assign({ round: round.withResults(context.round, [result]) })
        enqueue.emit(resultEvent(result))
      },
    ),
    startCalls: enqueueActions(({ context, self, enqueue }) =>
      noteStep(enqueue, context, round.beginCalls(context, concurrencyIn(self))),
    ),
    /** The executor, which is there by now, has taken the runs of sub-agents over. */
    runCalls: enqueueActions(({ context, enqueue }) => {
      const calls = round.runningCalls(context)
      if (calls.length > 0) enqueue.sendTo('toolExecutor', runEvent(context, calls))
      if (Object.keys(context.round.runs).length > 0)
        enqueue.assign({ round: { ...context.round, runs: {} } })
    }),
    announceProgress: emit((_, progress: Extract<AgentEvent, { type: 'tool.progress' }>) => progress),
    noteResults: enqueueActions(
      ({ context, self, enqueue }, { results, usage }: Extract<AgentEvent, { type: 'tool.finished' }>) => {
        const step = tasks.settleCalls(context, toolsOf(config(), self), results, recordedTime(self))
        takeStep(enqueue, context, round.finishCalls(context, step.results, concurrencyIn(self)), usage)
        noteTasks(enqueue, context, step)
      },
    ),
    takeResults: enqueueActions(({ context, self, enqueue }, output: ToolServiceOutput) => {
      const all = results.allResults(context, output.results)
      const step = tasks.settleCalls(context, toolsOf(config(), self), all, recordedTime(self))
      noteStep(enqueue, context, round.finishCalls(context, step.results, 0), output.usage)
      noteTasks(enqueue, context, step)
    }),
    resumeCalls: enqueueActions(
      ({ context, self, enqueue }, { runs }: Extract<AgentEvent, { type: 'tool.restored' }>) =>
        takeStep(
          enqueue,
          context,
          round.resumeCalls(
            context,
            toolsOf(config(), self),
            runs,
            concurrencyIn(self),
            hostOf(self).resultOf,
          ),
        ),
    ),
    noteWait: enqueueActions(({ context, enqueue }, wait: Extract<AgentEvent, { type: 'tool.waiting' }>) => {
      const step = round.noteWait(context, wait)
      if (step.round !== context.round) noteStep(enqueue, context, step)
    }),
    keepCommand: assign(
      ({ context }, { callId, command }: Extract<AgentEvent, { type: 'tool.postponed' }>) => ({
        round: round.withCommand(context.round, callId, command),
      }),
    ),
    deliverCommands: enqueueActions(({ context, enqueue }, { callId }: { callId: string }) => {
      const { due, step } = round.takeCommands(context, callId)
      if (due.length === 0) return
      noteStep(enqueue, context, step)
      for (const command of due) enqueue.sendTo('toolExecutor', command)
    }),
    noteExecutorFailure: assign((_, { error }: { error: unknown }) => ({
      failure: brokenPart(error, 'ToolExecution'),
    })),
    storeResults: assign(({ context, self }) => {
      const plain = results.resultMessage(context)
      const repeats = repeatsIn(context, plain, toolsOf(config(), self))
      const note = repeatNote(context, repeats)
      return {
        ...run.append(context, note === undefined ? plain : results.resultMessage(context, note)),
        steering: results.laterSteering(context),
        bounds: { ...context.bounds, repeats, emptyAnswers: 0 },
      }
    }),
  }
}

const firedAt = ({ event }: { event: { at: number } }) => ({ at: event.at })

/** The transitions of a state whose calls may expire, or sleep: all whose time is up are decided on together. */
export const expiryEvents = deepFreeze({
  'timer.fired': [
    {
      guard: { type: 'isExpiryFatal', params: firedAt },
      target: '#agent.Failed',
      actions: { type: 'noteExpiry', params: firedAt },
    },
    {
      actions: [
        { type: 'expire', params: firedAt },
        { type: 'awaitNextExpiry', params: firedAt },
      ],
    },
  ],
})

const concurrencyOf = ({ executeBatch, toolExecution }: ResolvedConfig): number => {
  if (executeBatch) return Number.POSITIVE_INFINITY
  if (typeof toolExecution === 'object') return toolExecution.concurrency
  return toolExecution === 'parallel' ? Number.POSITIVE_INFINITY : 1
}
