import { type AnyEventObject, type AnyStateMachine, createMachine } from 'xstate'
import { totalTimeout } from '../../machines/agent/failures.ts'
import {
  type AgentInput,
  type AgentMachineConfig,
  type AgentSnapshot,
  createAgentMachine,
  createChart,
  type StreamingState,
} from '../../machines/index.ts'
import { asGiven, type Verdict } from '../../machines/policy/openQuestions.ts'
import { questionId } from '../../machines/policy/questions.ts'
import { isOpen } from '../../machines/tasks/tasks.ts'
import { nextDue, sleepsIn } from '../../machines/tools/expiry.ts'
import { isAfterTools } from '../../machines/tools/results.ts'
import * as round from '../../machines/tools/round.ts'
import { compactionOf } from '../../src/messages/compaction.ts'
import { type ChatMessage, isTaskResult, modelMessage, userMessage } from '../../src/messages/messages.ts'
import type { Delta } from '../../src/model/delta.ts'
import type { ModelStep, Never } from '../../src/testing/checkModel.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import type { StoredChildren, Tested } from './charts.ts'

/** A background agent: one of its tasks works at a time. */
const worker: Tool = {
  ...tool({
    name: 'worker',
    description: 'Works in the background',
    onInterrupted: 'rerun',
    execute: () => 'ok',
  }),
  background: {
    promptOf: () => '',
    run: () => {
      throw new Error('The tasks of a path are a puppet.')
    },
    detached: false,
    maxTasks: 1,
  },
}

const tools = [
  tool({ name: 'plain', description: 'Runs at once', onInterrupted: 'ask', execute: () => 'ok' }),
  tool({
    name: 'guarded',
    description: 'Asks first',
    needsApproval: true,
    expiresMs: 100,
    execute: () => 'ok',
  }),
  tool({
    name: 'strict',
    description: 'Asks first, and does not wait for ever',
    needsApproval: true,
    expiresMs: 100,
    onExpired: 'fail',
    execute: () => 'ok',
  }),
  tool({
    name: 'last',
    description: 'Ends the run',
    endsRun: true,
    onInterrupted: 'rerun',
    execute: () => 'ok',
  }),
  tool({ name: 'outside', description: 'Is answered from outside', expiresMs: 100 }),
  tool({ name: 'awaited', description: 'Must be answered', expiresMs: 100, onExpired: 'fail' }),
  sleepTool(),
]

/** An agent with limits so small that a path can reach them: its chart, and the machine that users get. */
const agentWith = (limits: Omit<AgentMachineConfig, 'model'>): Tested => {
  const config: AgentMachineConfig = {
    model: scriptedModel([]),
    tools,
    timeouts: { firstChunkMs: 100, idleMs: 100, totalMs: 1000 },
    random: () => 0,
    newId: () => 'new-id',
    ...limits,
  }
  return { chart: createChart(config), machine: createAgentMachine(config) }
}

const consolidate = () => {
  throw new Error('broken accumulator')
}

/** Charts with this limit, which is never reached, are tried with few events. */
const narrow = { tokens: Number.MAX_SAFE_INTEGER }

/** Charts with this limit have a policy, and are tried with what its gates need. */
const judged = { tokens: Number.MAX_SAFE_INTEGER - 1 }

/** Charts with this limit have background agents, and are tried with what those report. */
const tasked = { tokens: Number.MAX_SAFE_INTEGER - 2 }

const policy = createMachine({
  initial: 'On',
  states: {
    On: {
      on: {
        prompt: 'On',
        answer: 'On',
        'plain.*': 'On',
        'guarded.*': 'On',
        'outside.*': 'On',
        'worker.*': 'On',
      },
    },
  },
})

/**
 * Agents whose charts are walked, each with one thing more: a policy, background agents, many steps, several models and an
 * approver, a part that breaks, a question or a last answer at the limit, a small window. Together they would have too many
 * states.
 */
export const agents: readonly Tested[] = [
  agentWith({
    limits: { steps: 1, ...judged },
    retry: { maxRetries: 0 },
    atLimit: 'answer',
    policy: { machine: policy, others: 'allow' },
    tools: [...tools, worker],
  }),
  agentWith({ limits: { steps: 3, ...tasked }, retry: { maxRetries: 0 }, tools: [...tools, worker] }),
  agentWith({ maxSteps: 3, retry: { maxRetries: 1, initialDelayMs: 10 } }),
  agentWith({
    maxSteps: 1,
    retry: { maxRetries: 0 },
    fallback: [scriptedModel([])],
    onApproval: () => false,
  }),
  agentWith({ maxSteps: 1, retry: { maxRetries: 0 }, accumulator: { consolidate } }),
  agentWith({ limits: { steps: 1, ...narrow }, retry: { maxRetries: 0 }, atLimit: 'ask' }),
  agentWith({ limits: { steps: 1, ...narrow }, retry: { maxRetries: 0 }, atLimit: 'answer' }),
  agentWith({
    limits: { steps: 2, ...narrow },
    retry: { maxRetries: 1, initialDelayMs: 10 },
    compaction: { window: 2000 },
    // Descriptions of tools fill the window, too.
    tools: tools.slice(0, 1),
  }),
]

const long = 'x'.repeat(1600)
const longChat: ChatMessage[] = [1, 2].flatMap(() => [userMessage(long), modelMessage(long)])
const longResult: ChatMessage[] = [
  userMessage('hi'),
  modelMessage([{ type: 'toolCall', id: 'old', name: 'plain', arguments: {} }]),
  userMessage([{ type: 'toolResult', id: 'old', name: 'plain', result: long.repeat(4) }]),
  modelMessage('there it is'),
]

const inputs: AgentInput[] = [
  { prompt: 'hi' },
  { history: [{ role: 'model', parts: [{ type: 'text', text: 'unasked' }] }] },
  { history: longChat, prompt: 'go on' },
  { history: longResult, prompt: 'go on' },
]

const isLong = ({ context }: AgentSnapshot): boolean =>
  context.history.length > 4 && context.messages[0] !== context.history[0]

const call = (name: string, { context }: AgentSnapshot, suffix = ''): Delta => ({
  type: 'toolCall',
  call: { id: `${name}-${context.step}${suffix}`, name, arguments: {} },
})

const cancel: Delta = {
  type: 'toolCall',
  call: { id: 'cancel', name: 'task_cancel', arguments: { task: 'worker-1' } },
}

const sleep: Delta = { type: 'toolCall', call: { id: 'sleep', name: 'sleep', arguments: { seconds: 1 } } }

const finish = (reason: 'stop' | 'toolCalls' | 'error', pause = false): Delta => ({
  type: 'finish',
  reason,
  raw: reason,
  pause,
})

const read = (seq: number, ...deltas: Delta[]) => ({ type: 'model.deltas', deltas, seq, at: 1 })

/** After every deadline, whether time began at 0 or in 1970. */
const late = Number.MAX_SAFE_INTEGER

function failure(retryable: boolean) {
  return { name: 'ModelError', message: 'no', retryable }
}

function overflow() {
  return { name: 'ModelError', message: 'too long', code: 'context_overflow', retryable: false }
}

/** What may happen in a state: the children's reports that it waits for, and what anyone may send at any time. */
const events = (snapshot: AgentSnapshot): AnyEventObject[] => {
  const always = [{ type: 'abort', reason: 'enough' }, ...steering(snapshot)]
  if (snapshot.context.options.limits.tokens === judged.tokens) return [...judgedEvents(snapshot), ...always]
  if (snapshot.context.options.limits.tokens === tasked.tokens) return [...taskedEvents(snapshot), ...always]
  if (snapshot.matches('AtLimit')) return [...limitEvents(snapshot), ...always]
  if (snapshot.matches('Compacting')) return [...summaryEvents, ...always]
  if (isLong(snapshot)) return [...fewEvents(snapshot), { type: 'abort', reason: 'enough' }]
  if (snapshot.context.options.limits.tokens === narrow.tokens) return [...fewEvents(snapshot), ...always]
  if (snapshot.matches('Accumulating')) return [...modelEvents(snapshot), ...always]
  if (snapshot.matches('AwaitingApproval')) return [...approvals(snapshot), ...expiry(snapshot), ...always]
  if (snapshot.matches('ToolExecution')) return [...executorEvents(snapshot), ...ofSubAgents, ...always]
  if (snapshot.matches('AwaitingTools'))
    return [
      ...answers(snapshot),
      ...expiry(snapshot),
      { type: 'wake', message: 'Now' },
      { type: 'message', text: 'in euros', when: 'now' },
      ...(snapshot.context.steering.length === 0
        ? [{ type: 'message', text: 'in euros', when: 'idle' }]
        : []),
      ...always,
    ]
  return always
}

/** Raised once: more would only multiply the states. */
const limitEvents = ({ context }: AgentSnapshot): AnyEventObject[] => [
  { type: 'tool.reject', callId: 'limit' },
  { type: 'tool.reject', callId: 'unknown' },
  { type: 'tool.approve', callId: 'unknown' },
  ...(context.step < 2
    ? [
        { type: 'tool.approve', callId: 'limit', arguments: { steps: 2 } },
        { type: 'tool.approve', callId: 'limit' },
      ]
    : []),
]

const summaryEvents: AnyEventObject[] = [
  { type: 'summary.done', text: 'They said x.', usage: { inputTokens: 5 } },
  { type: 'summary.done', text: long.repeat(5), usage: null },
  { type: 'summary.failed', error: overflow(), usage: null },
  { type: 'summary.failed', error: failure(true), usage: null },
  { type: 'summary.failed', error: failure(false), usage: null },
]

/** What a conversation that is too long and a run at its limit need, and no more. */
const fewEvents = (snapshot: AgentSnapshot): AnyEventObject[] => {
  if (snapshot.matches('ToolExecution')) return executorEvents(snapshot).slice(0, 2)
  if (!snapshot.matches('Accumulating')) return []
  if (snapshot.matches({ Accumulating: 'BackingOff' })) return modelEvents(snapshot)
  return [
    read(0, call('plain', snapshot), finish('toolCalls')),
    read(0, finish('stop')),
    { type: 'model.done', at: 1 },
    { type: 'model.failed', error: overflow(), at: 1 },
    ...(snapshot.context.window.due === null ? [{ type: 'compact' }] : []),
  ]
}

/** The events of a run with background agents: what a task may report in each state, and little else. */
const taskedEvents = (snapshot: AgentSnapshot): AnyEventObject[] => {
  const { context } = snapshot
  const isFirst = context.step === 1
  if (snapshot.matches('Accumulating'))
    return [
      ...(isFirst
        ? [
            read(0, call('worker', snapshot), call('worker', snapshot, 'b'), finish('toolCalls')),
            read(0, call('worker', snapshot), call('last', snapshot), finish('toolCalls')),
            read(0, call('worker', snapshot), cancel, finish('toolCalls')),
          ]
        : []),
      read(0, { type: 'text', text: 'hello' }, finish('stop')),
      { type: 'model.done', at: 1 },
      ...(snapshot.matches({ Accumulating: 'Requesting' }) ? taskReports(context).slice(0, 1) : []),
    ]
  if (snapshot.matches('ToolExecution'))
    return [...executorEvents(snapshot).slice(0, 1), ...taskReports(context)]
  return [
    ...taskReports(context),
    ...(snapshot.matches('AwaitingTasks') && context.steering.length === 0 && context.step === 2
      ? [{ type: 'steer', text: 'and be brief' }]
      : []),
  ]
}

const taskReports = ({ tasks = [], step }: StreamingState): AnyEventObject[] => {
  const working = tasks.find(({ status }) => status === 'working')
  if (!working) return []
  const { id } = working
  const asked = { type: 'toolCall', id: 'a', name: 'inner', arguments: {}, kind: 'approval' }
  const report = { type: 'task.report', id, usage: { inputTokens: 5 } }
  return [
    { type: 'task.finished', id, status: 'complete', text: 'found', usage: { inputTokens: 7 } },
    { type: 'task.finished', id: 'unknown', status: 'failed', text: 'lost' },
    ...(step < 3 && tasks.length === 1
      ? [
          { ...report, calls: [asked], isAtWork: false },
          { ...report, calls: [], isAtWork: true },
          { type: 'task.restored', ids: [] },
          { type: 'xstate.error.actor.tasks', error: new Error('broken tasks') },
          ...[id, 'unknown'].map((task) => ({ type: 'task.command', task, command: { type: 'abort' } })),
          ...[id, 'unknown'].flatMap((task) => [
            { type: 'tool.approve', callId: `${task}/a` },
            { type: 'tool.reject', callId: `${task}/a` },
            { type: 'tool.answer', callId: `${task}/a`, result: 'ok' },
          ]),
        ]
      : []),
  ]
}

const gates = ['Prompt', 'Calls', 'Results', 'Tasks', 'Answer'] as const

/** The events of a run with a policy: whatever the policy may say at each gate, and little else. */
const judgedEvents = (snapshot: AgentSnapshot): AnyEventObject[] => {
  if (snapshot.matches('Accumulating')) {
    return [
      read(0, call('plain', snapshot), call('guarded', snapshot), finish('toolCalls')),
      read(0, call('outside', snapshot), finish('toolCalls')),
      ...(snapshot.context.step === 1 ? [read(0, call('worker', snapshot), finish('toolCalls'))] : []),
      read(0, finish('stop')),
      { type: 'model.done', at: 1 },
    ]
  }
  if (snapshot.matches('AwaitingApproval')) return approvals(snapshot).slice(0, 2)
  if (snapshot.matches('ToolExecution')) return executorEvents(snapshot).slice(0, 1)
  if (snapshot.matches('AwaitingTools')) return answers(snapshot).slice(0, 1)
  const gate = gates.find((name) => isAt(snapshot, name))
  if (!gate) return []
  const { context } = snapshot
  const id = questionId(gate, context)
  const [task] = (context.tasks ?? []).filter(({ result }) => result !== undefined)
  const keys =
    gate === 'Prompt' || gate === 'Answer'
      ? [gate.toLowerCase()]
      : gate === 'Tasks'
        ? [task?.id ?? '']
        : callIds(context)
  const verdicts = (verdict: Verdict['verdict']) =>
    Object.fromEntries(keys.map((key) => [key, { verdict, state: 'On' }]))
  return [
    { type: 'policy.ready' },
    { type: 'policy.holds', id },
    asGiven({ type: 'policy.verdict', id, verdicts: verdicts('pass') }),
    asGiven({ type: 'policy.verdict', id, verdicts: verdicts('refuse') }),
    asGiven({ type: 'policy.verdict', id, verdicts: {}, ended: { verdict: 'refuse', state: 'Over' } }),
    asGiven({ type: 'policy.verdict', id: 'another', verdicts: verdicts('pass') }),
    { type: 'xstate.error.actor.policy', error: new Error('broken policy') },
    ...taskReports(context).slice(0, 1),
    ...(snapshot.matches({ Judging: { [gate]: 'Holding' } } as never)
      ? [{ type: 'timer.fired', at: late }, ...steeringOnce(snapshot)]
      : []),
  ]
}

const isAt = ({ value }: AgentSnapshot, gate: string): boolean => {
  const { Judging }: { Judging?: unknown } = Object(value)
  return Object.hasOwn(Object(Judging), gate)
}

const callIds = (context: StreamingState): string[] => round.currentCalls(context).map(({ id }) => id)

/** An answer may be accepted while the user steers. */
const steeringOnce = ({ context }: AgentSnapshot): AnyEventObject[] =>
  context.steering.length === 0 && context.step === 1 ? [{ type: 'steer', text: 'and be brief' }] : []

/** Steered once, early: more would only multiply the states. */
const steering = (snapshot: AgentSnapshot): AnyEventObject[] =>
  isFresh(snapshot) && snapshot.context.steering.length === 0
    ? [{ type: 'steer', text: 'and be brief' }, { type: 'wake' }, ...messages(snapshot)]
    : []

/** Messages multiply the states as well: only charts with few events get them. */
const messages = ({ context }: AgentSnapshot): AnyEventObject[] =>
  context.options.limits.tokens === narrow.tokens
    ? [
        { type: 'message', text: 'in euros', when: 'idle' },
        { type: 'message', text: 'in euros', when: 'now' },
      ]
    : []

const isFresh = (snapshot: AgentSnapshot): boolean =>
  snapshot.matches({ Accumulating: 'Requesting' }) &&
  snapshot.context.step === 1 &&
  snapshot.context.request.modelIndex === 0 &&
  snapshot.context.request.attempt === 0

const modelEvents = (snapshot: AgentSnapshot): AnyEventObject[] => {
  if (snapshot.matches({ Accumulating: 'BackingOff' })) {
    return [
      { type: 'timer.fired', at: 50 },
      { type: 'timer.fired', at: late },
    ]
  }
  return [
    read(0, { type: 'text', text: 'hello' }),
    read(1, { type: 'text', text: 'hello' }),
    read(1, finish('stop')),
    read(1, call('plain', snapshot), finish('toolCalls')),
    ...(isFresh(snapshot)
      ? [
          read(1, finish('stop', true)),
          read(1, finish('error')),
          read(1, call('last', snapshot), finish('toolCalls')),
          read(1, call('plain', snapshot), call('outside', snapshot), finish('toolCalls')),
          read(1, call('plain', snapshot), call('guarded', snapshot), finish('toolCalls')),
          read(1, call('strict', snapshot), finish('toolCalls')),
          read(1, call('awaited', snapshot), finish('toolCalls')),
          read(1, sleep, finish('toolCalls')),
        ]
      : []),
    ...(isFresh(snapshot)
      ? [{ type: 'model.prepared', prepared: { provider: 'p', model: 'm', tools: null } }]
      : []),
    { type: 'model.done', at: 1 },
    { type: 'model.failed', error: failure(true), at: 1 },
    { type: 'model.failed', error: failure(false), at: 1 },
    { type: 'model.failed', error: overflow(), at: 1 },
    { type: 'model.failed', error: totalTimeout(1000), at: late },
    { type: 'xstate.error.actor.model', error: new Error('broken adapter') },
  ]
}

const approvals = ({ context }: AgentSnapshot): AnyEventObject[] =>
  [...context.round.pendingApprovals, 'unknown'].flatMap((callId) => [
    { type: 'tool.approve', callId },
    { type: 'tool.reject', callId, reason: 'too risky' },
    { type: 'tool.answer', callId, result: 'it had run' },
  ])

/** Decisions on calls of sub-agents, whose runs are below the executor. */
const ofSubAgents: AnyEventObject[] = [
  { type: 'tool.approve', callId: 'plain-1/a' },
  { type: 'tool.reject', callId: 'plain-1/a' },
  { type: 'tool.answer', callId: 'plain-1/a', result: 'ok' },
]

/** The moment at which a call expires, once it is there, or a sleep is over. */
const expiry = ({ children }: AgentSnapshot): AnyEventObject[] =>
  children.timer ? [{ type: 'timer.fired', at: late }] : []

const answers = ({ context }: AgentSnapshot): AnyEventObject[] =>
  [...round.externalCalls(context).map(({ id }) => id), 'unknown'].flatMap((callId) => [
    { type: 'tool.answer', callId, result: { fine: true } },
    { type: 'tool.reject', callId, reason: 'not at home' },
  ])

const executorEvents = (snapshot: AgentSnapshot): AnyEventObject[] => {
  const { context } = snapshot
  const result = (id: string, name: string) => ({ type: 'toolResult' as const, id, name, result: 'ok' })
  const [next] = round.runningCalls(context)
  return [
    ...(next ? [{ type: 'tool.finished', results: [result(next.id, next.name)] }] : []),
    {
      type: 'xstate.done.actor.toolExecutor',
      output: { results: round.callsToRun(context).map(({ id, name }) => result(id, name)) },
    },
    ...(next ? [{ type: 'tool.progress', callId: next.id, value: 0.5 }] : []),
    { type: 'xstate.error.actor.toolExecutor', error: new Error('broken executor') },
    // Restored once, and of a sub-agent once: more would only multiply the states.
    ...(context.step === 1 &&
    context.steering.length === 0 &&
    Object.keys(context.round.interruptions).length === 0
      ? [{ type: 'tool.restored', runs: {} }]
      : []),
    ...(next && context.step === 1 && context.steering.length === 0 ? subAgentEvents(next.id, context) : []),
    { type: 'timer.fired', at: late },
  ]
}

const subAgentEvents = (
  callId: string,
  { round: { waiting, commands } }: StreamingState,
): AnyEventObject[] => [
  {
    type: 'tool.waiting',
    callId,
    calls: [{ type: 'toolCall', id: `${callId}/a`, name: 'inner', arguments: {}, kind: 'approval' }],
  },
  { type: 'tool.resumed', callId },
  ...(Object.keys(waiting).length > 0 && Object.keys(commands).length === 0
    ? [
        { type: 'tool.waiting', callId, calls: [] },
        { type: 'tool.postponed', callId, command: { type: 'tool.approve', callId: `${callId}/a` } },
      ]
    : []),
]

/** The state value, and what the guards look at, no finer than they do. */
const key = ({ value, status, context }: AgentSnapshot): string =>
  JSON.stringify([
    value,
    status,
    context.step,
    context.request.attempt,
    context.request.modelIndex,
    context.request.prepared !== null,
    context.answer.chunks > 0,
    context.answer.accumulated.finish,
    context.answer.accumulated.calls.map(({ name }) => name),
    context.answer.accumulated.text !== '',
    context.paused !== null,
    context.bounds.emptyAnswers,
    context.bounds.reached?.limit,
    context.window.due,
    context.window.compactedAt.length,
    context.window.halvings,
    context.history.filter((message) => message.role === 'system').length,
    isLong({ context } as AgentSnapshot),
    context.history[1]?.parts[0]?.type,
    context.options.limits.steps,
    isAfterTools(context),
    context.round.pendingApprovals.length,
    context.round.inDoubt.length,
    round.runningCalls(context).length,
    Object.keys(context.round.interruptions).length,
    Object.values(context.round.waiting).flat().length,
    Object.keys(context.round.commands).length,
    context.round.results.flat().length,
    round.externalCalls(context).length,
    Object.values(context.round.due ?? {}).map(({ outcome }) => outcome),
    [...new Set(context.steering.flat().map((each) => typeof each))],
    context.failure?.retryable,
    context.failure?.code === 'total_timeout',
    round.currentCalls(context).some(({ name }) => name === 'last'),
    context.tasks?.map(({ id, status, waiting, cancelled, result }) => [
      id,
      status,
      waiting?.length,
      cancelled,
      result,
    ]),
    ...(context.options.limits.tokens === tasked.tokens
      ? round.currentCalls(context).map(({ name }) => name)
      : []),
    ...(context.options.limits.tokens === judged.tokens
      ? [context.failure?.code, round.currentCalls(context).length]
      : []),
  ])

const children: Record<string, string> = {
  model: 'model',
  timer: 'timer',
  tool: 'toolExecutor',
  summary: 'summariser',
  policy: 'policy',
  task: 'tasks',
}
const commands = new Set(['tool.approve', 'tool.reject', 'tool.answer'])

export const agentPaths: PathOptions<AnyStateMachine> = {
  inputs,
  events,
  key,
  from: ({ type }) => (commands.has(type) ? undefined : children[type.split('.')[0] ?? '']),
}

/** The snapshots of the real approver and the real executor, which a machine checks when it is restored. */
export const agentChildren: StoredChildren<StreamingState> = {
  approver: ({ calls }) => ({ calls, decided: [] }),
  toolExecutor: () => ({ runs: {} }),
  tasks: () => ({ runs: {} }),
  policy: () => ({ value: 'On', context: {}, judging: { isOver: false, open: null } }),
}

type Step = ModelStep<AnyStateMachine>

const markersIn = ({ context }: AgentSnapshot) => context.messages.filter(compactionOf).length
const answersIn = ({ context }: AgentSnapshot) =>
  context.messages.filter(({ role }) => role === 'model').length
const isCompacted = ({ before, after }: Step) => markersIn(after) > markersIn(before)

const deliveredIn = ({ context }: AgentSnapshot) =>
  context.messages.filter(isTaskResult).map(({ metadata }) => Object(metadata?.task).id)
const isWakeUp = ({ context }: AgentSnapshot, { type, when, at }: AnyEventObject): boolean =>
  type === 'wake' ||
  when === 'now' ||
  (type === 'timer.fired' && at >= (nextDue(context) ?? Number.POSITIVE_INFINITY))

const workingIn = ({ context }: AgentSnapshot) => (context.tasks ?? []).filter(isOpen).map(({ id }) => id)

/** What must not happen, on whatever path. */
export const agentNever: readonly Never<AnyStateMachine>[] = [
  {
    name: 'two compactions without an answer between',
    after: isCompacted,
    until: ({ before, after }) => answersIn(after) > answersIn(before),
    bad: isCompacted,
  },
  {
    name: 'a tool call after AtLimit without a raise',
    after: ({ after: { context } }) => context.bounds.reached !== null,
    until: ({ after: { context } }) => context.bounds.reached === null,
    bad: ({ after }) => after.matches('ToolExecution'),
  },
  {
    name: 'a result delivered twice',
    bad: ({ after }) => new Set(deliveredIn(after)).size < deliveredIn(after).length,
  },
  {
    name: 'complete while a task works',
    bad: ({ before, event, after }) =>
      after.matches('Complete') &&
      after.context.bounds.reached === null &&
      workingIn(before).some((id) => !(event.type === 'task.finished' && event.id === id)),
  },
  {
    name: 'a wake-up lost',
    bad: ({ before, event, after }) =>
      sleepsIn(after.context).length > 0 &&
      (after.children.timer === undefined ||
        (sleepsIn(before.context).length > 0 && isWakeUp(before, event))),
  },
]
