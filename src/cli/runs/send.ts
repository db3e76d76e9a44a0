import type { RunInfo } from '../../durable/index.ts'
import type { PendingCall } from '../../messages/result.ts'
import { aboutOf } from '../Approvals.ts'
import { type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../outcome.ts'
import { pendingLine } from '../progress.ts'
import { promptOf } from '../question.ts'
import { namedRun, noteOwner, type RunsAction } from './action.ts'

export const approve: RunsAction = {
  name: 'approve',
  operands: '<id> [callId]',
  summary: 'lets a call run, or a run continue past a limit',
  options: [],
  run: async (invocation, runs) => {
    const info = await (await namedRun(runs, invocation.words)).info()
    const mayRun = ({ kind, inDoubt }: PendingCall) => kind !== 'answer' || inDoubt === true
    const call = chosenCall(info, info.pending.filter(mayRun), invocation.words[1])
    await runs.send(info.id, { type: 'tool.approve', ...aboutOf(call) })
    invocation.screen.line(`${call.kind === 'limit' ? 'continues' : 'approved'}: ${pendingLine(call)}`)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

export const reject: RunsAction = {
  name: 'reject',
  operands: '<id> [callId]',
  summary: 'refuses it; the model sees the --reason',
  options: ['reason'],
  run: async (invocation, runs) => {
    const info = await (await namedRun(runs, invocation.words)).info()
    const call = chosenCall(info, info.pending, invocation.words[1])
    const reason = textOption(invocation, 'reason')
    await runs.send(info.id, {
      type: 'tool.reject',
      ...aboutOf(call),
      ...(reason !== undefined && { reason }),
    })
    invocation.screen.line(`${call.kind === 'limit' ? 'ends' : 'rejected'}: ${pendingLine(call)}`)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

export const answer: RunsAction = {
  name: 'answer',
  operands: '<id> <callId> <text>',
  summary: 'gives the result of a call; - reads stdin',
  options: [],
  run: async (invocation, runs) => {
    const [, callId, ...said] = invocation.words
    const info = await (await namedRun(runs, invocation.words)).info()
    if (callId === undefined) throw new UsageError(`Which call? ${waiting(info.pending)}`)
    const call = chosenCall(info, info.pending, callId)
    const result = await promptOf({ ...invocation, words: said })
    await runs.send(info.id, { type: 'tool.answer', ...aboutOf(call), result })
    invocation.screen.line(`answered: ${pendingLine(call)}`)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

/** The call that was named, by its id or its question, or the only one there is. */
const chosenCall = (
  { id, status }: RunInfo,
  calls: readonly PendingCall[],
  named: string | undefined,
): PendingCall => {
  const [first, ...others] =
    named === undefined ? calls : calls.filter(({ id, question }) => named === id || named === question)
  if (first && others.length === 0) return first
  if (first) throw new UsageError(`Which call? ${waiting(calls)}`)
  const problem =
    named === undefined ? 'does not wait for such a decision' : `does not wait for the call "${named}"`
  throw new UsageError(`The run "${id}" (${status}) ${problem}. ${waiting(calls)}`)
}

const waiting = (calls: readonly PendingCall[]): string =>
  calls.length === 0
    ? 'Nothing waits.'
    : `These wait:\n${calls.map((call) => `  ${call.id}  ${pendingLine(call)}`).join('\n')}`

export const abort: RunsAction = {
  name: 'abort',
  operands: '<id>',
  summary: 'ends it',
  options: ['reason'],
  run: async (invocation, runs) => {
    const { id } = await namedRun(runs, invocation.words)
    const reason = textOption(invocation, 'reason')
    await runs.send(id, { type: 'abort', ...(reason !== undefined && { reason }) })
    invocation.screen.line(`aborting: ${id}`)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

export const steer: RunsAction = {
  name: 'steer',
  operands: '<id> <text>',
  summary: 'adds a message for the model; - reads stdin',
  options: [],
  run: async (invocation, runs) => {
    const [, ...said] = invocation.words
    const { id } = await namedRun(runs, invocation.words)
    const text = await promptOf({ ...invocation, words: said })
    await runs.send(id, { type: 'steer', text })
    invocation.screen.line(`steered: ${id}`)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

export const fork: RunsAction = {
  name: 'fork',
  operands: '<id>',
  summary: 'starts a copy from there, or from --at-step',
  options: ['at-step', 'agent', 'id'],
  run: async (invocation, runs) => {
    const { id } = await namedRun(runs, invocation.words)
    const agent = textOption(invocation, 'agent')
    const newId = textOption(invocation, 'id')
    const copy = await runs.fork(id, {
      ...stepOption(invocation),
      ...(agent !== undefined && { agent }),
      ...(newId !== undefined && { id: newId }),
    })
    invocation.screen.line(copy.id)
    await noteOwner(runs, invocation)
    return exit.complete
  },
}

const stepOption = (invocation: Invocation): { atStep?: number } => {
  const typed = textOption(invocation, 'at-step')
  if (typed === undefined) return {}
  if (!/^[1-9]\d{0,8}$/.test(typed))
    throw new UsageError(`"${typed}" is not a model call: write its number; the first is 1.`)
  return { atStep: Number(typed) }
}
