import { factsOf } from '../../machines/agent/states.ts'
import { areTasksPaused, familyUsage } from '../../machines/tasks/tasks.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { isWaiting, runningCalls } from '../../machines/tools/round.ts'
import { isJsonObject } from '../messages/json.ts'
import { addUsage, type Usage } from '../messages/result.ts'

/** A live or stored snapshot, and those of the actors below it. */
type Node = {
  status: unknown
  value: unknown
  context: Readonly<Record<string, unknown>>
  below: unknown[]
  /** The runs of its background agents. */
  tasks: unknown[]
}

const nodeOf = (snapshot: unknown): Node => {
  const { status, value, context, children }: Readonly<Record<string, unknown>> = Object(snapshot)
  // The policy of a run is not a part of its work: nothing of it runs while the run waits for a person. Nor is its timer: the
  // store knows when it fires.
  const { policy, tasks, timer, ...rest } = Object(children)
  const parts = isRun(context) ? rest : Object(children)
  const below = Object.values(parts).map((child) => snapshotOf(child) ?? Object(child).snapshot)
  const { runs } = Object(isRun(context) && tasks ? (snapshotOf(tasks) ?? tasks.snapshot) : undefined)
  return {
    status,
    value,
    context: isJsonObject(context) ? context : {},
    below,
    tasks: Object.values(Object(runs)).map((task) => snapshotOf(Object(task).run) ?? Object(task).run),
  }
}

/** The snapshot of a live actor; nothing for a stored one. */
const snapshotOf = (actor: unknown): unknown => {
  const { getSnapshot } = Object(actor)
  return typeof getSnapshot === 'function' ? Reflect.apply(getSnapshot, actor, []) : undefined
}

/** Says whether a run waits, and nothing of it is running: then it can be stored until there is a decision. */
export const isResting = (snapshot: unknown): boolean => {
  const { status, value, context, below, tasks } = nodeOf(snapshot)
  if (status !== 'active') return true
  if (!tasks.every(isResting)) return false
  const { toolExecutor } = Object(Object(snapshot).children)
  if (isRun(context) && toolExecutor) {
    // The calls that are left are sub-agents that wait. A restored one gets a decision a moment later, and reports it a
    // moment after that.
    const { runs } = Object(snapshotOf(toolExecutor) ?? toolExecutor.snapshot)
    const rest = runningCalls(context).map(({ id }) => Object(runs)[id])
    return (
      isWaiting(context) &&
      Object.keys(context.round.commands).length === 0 &&
      rest.every((run) => isResting(snapshotOf(run) ?? run))
    )
  }
  const kind = isRun(context) ? factsOf(value)?.waitsFor : undefined
  // A run that waits for its tasks rests once each of them waits for a person, or sleeps.
  const isPaused = kind === 'tasks' ? isRun(context) && areTasksPaused(context) : kind !== undefined
  return (isPaused || below.length > 0) && below.every(isResting)
}

/** Says whether a tool is running in a run, or in one below it: the end of the run would leave its call in doubt. */
export const hasRunningTools = (snapshot: unknown): boolean => {
  const { status, context, below, tasks } = nodeOf(snapshot)
  if (status !== 'active') return false
  if (tasks.some(hasRunningTools)) return true
  const { toolExecutor } = Object(Object(snapshot).children)
  if (!isRun(context) || !toolExecutor) return below.some(hasRunningTools)
  const { runs } = Object(snapshotOf(toolExecutor) ?? toolExecutor.snapshot)
  return runningCalls(context).some(({ id }) => {
    const run = Object(runs)[id]
    return run === undefined || hasRunningTools(snapshotOf(run) ?? run)
  })
}

/** Says whether a run, or one below it, has calls that are running, or are approved and have not run. */
export const holdsDecisions = (snapshot: unknown): boolean => {
  const { status, context, below, tasks } = nodeOf(snapshot)
  if (status !== 'active') return false
  if (!isRun(context)) return below.some(holdsDecisions)
  if (tasks.some(holdsDecisions)) return true
  const { origins = {}, cleared, runs: kept } = context.round
  const isAnswered = new Set(context.round.results.flat().map(({ id }) => id))
  const { toolExecutor } = Object(Object(snapshot).children)
  const { runs = kept } = Object(snapshotOf(toolExecutor) ?? Object(toolExecutor).snapshot)
  return (
    hasRunningTools(snapshot) ||
    cleared.some((id) => Object.hasOwn(origins, id) && !isAnswered.has(id)) ||
    Object.values(Object(runs)).some((run) => holdsDecisions(snapshotOf(run) ?? run))
  )
}

/** Says whether a run, or one that it is made of, is complete and takes no more commands. */
export const isAtEnd = (snapshot: unknown): boolean => {
  const { status, context, below } = nodeOf(snapshot)
  const { output } = Object(snapshot)
  if (status === 'done') return 'messages' in context && Object(output).status === 'complete'
  return below.some(isAtEnd)
}

/** Model calls so far. A chart made of runs does not count them itself: each of its finished runs left its answers. */
export const stepsIn = (snapshot: unknown): number => {
  const { context, below } = nodeOf(snapshot)
  if (typeof context.step === 'number') return context.step
  const answers = listOf(context.messages).filter((each) => isJsonObject(each) && each.role === 'model')
  return below.reduce<number>((sum, each) => sum + stepsIn(each), answers.length)
}

/** Messages that a run has added to the conversation, without those between its tools and models. */
export const messagesOf = (snapshot: unknown): unknown[] => {
  const { context, below } = nodeOf(snapshot)
  const own = listOf(context.messages)
  return isRun(context) ? own : [...own, ...below.flatMap(messagesOf)]
}

export const usageIn = (snapshot: unknown): Usage | undefined => {
  const { context, below } = nodeOf(snapshot)
  const { totals } = context
  if (isRun(context) && context.tasks) return familyUsage(context) ?? undefined
  const own = isJsonObject(totals) && isJsonObject(totals.usage) ? totals.usage : undefined
  return below.map(usageIn).reduce(addUsage, own)
}

/** The data of the run that is under way, and of the runs around it, the innermost first. */
export const contextsIn = (snapshot: unknown): Readonly<Record<string, unknown>>[] => {
  const { context, below } = nodeOf(snapshot)
  return [...below.flatMap(contextsIn), context]
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
