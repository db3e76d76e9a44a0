import type { AnyEventObject } from 'xstate'
import { statePath } from '../../machines/agent/states.ts'
import { type Moment, takenIn } from './ActorRecord.ts'
import { activeStates, activityOf } from './chart.ts'
import { policyAt } from './policyRows.ts'
import type { Change, MomentRow, PastMoment } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { brief, entriesOf, isPlain, readable } from './readable.ts'
import type { Subject } from './StoredRecord.ts'
import { toolRowsOf } from './toolRows.ts'

/** A moment as a line of the list. Its changes are those since the moment before. */
export const momentRow = (
  subject: Subject,
  moment: Moment,
  before: Moment | undefined,
  recorder: Recorder,
): MomentRow => {
  const { machine } = subject
  const { seq, at, event, reads, steps, snapshot, progress } = moment
  const path = [...steps.filter(({ hasTarget }) => hasTarget).map((step) => step.snapshot), snapshot].map(
    (each) => statePath(Object(each).value),
  )
  return {
    seq,
    at,
    event: eventName(event),
    from: recorder.senderOf(event),
    reads,
    states: activeStates(machine, snapshot).map(({ id }) => id),
    activity: activityOf(machine, snapshot),
    path: path.filter((state, index) => state !== path[index - 1]),
    taken: takenIn(moment, machine),
    policy: policyAt(subject, moment, before),
    changes: before ? changesBetween(contextOf(before), contextOf(moment), recorder.secrets) : [],
    progress,
  }
}

/** An event in a word. An event that a run reports to its orchestrator is named after the event inside. */
const eventName = ({ type, ...event }: AnyEventObject): string =>
  type === 'run.emitted' && typeof event.emitted?.type === 'string'
    ? `run.emitted: ${event.emitted.type}`
    : type

const contextOf = ({ snapshot }: Moment): unknown => (snapshot as { context?: unknown }).context

/** A subject as it was at a moment: the data that is too large for the list of moments. */
export const pastMoment = (recorder: Recorder, record: Subject, seq: number): PastMoment | null => {
  const moment = record.moments.find((each) => each.seq === seq)
  if (!moment) return null
  const { snapshot, event } = moment
  const { value, context, output, error } = snapshot as { [name: string]: unknown }
  const { secrets } = recorder
  return {
    seq,
    status: snapshot.status,
    value: readable(value, secrets),
    event: readable(event, secrets),
    context: readable(context, secrets),
    output: readable(output, secrets),
    error: readable(error, secrets),
    // The page has the pictures already.
    tools: toolRowsOf(recorder, record, seq).map((row) => ({ ...row, images: [] })),
  }
}

const mostChanges = 12
const mostInOne = 3
const mostLookedAt = 200
const mostEntries = 2_000
const deepest = 4

type Difference = { path: string[]; from: unknown; to: unknown }

/**
 * The differences between two contexts, path by path. Branches that are the same object are skipped, so data that is
 * never mutated costs only what changed.
 */
export const changesBetween = (before: unknown, after: unknown, secrets: readonly string[]): Change[] => {
  const found: Difference[] = []
  compare([], before, after, found)
  const changes = together(found).map((differences) => changeOf(differences, secrets))
  const more = changes.length - mostChanges
  return more > 0 ? [...changes.slice(0, mostChanges), { path: '…', after: `and ${more} more` }] : changes
}

const compare = (path: string[], from: unknown, to: unknown, found: Difference[]): void => {
  if (Object.is(from, to) || found.length >= mostLookedAt) return
  const old = path.length < deepest ? branchesOf(from) : null
  const fresh = old && branchesOf(to)
  if (old && fresh && Array.isArray(from) === Array.isArray(to)) {
    for (const key of new Set([...old.keys(), ...fresh.keys()])) {
      compare([...path, key], old.get(key), fresh.get(key), found)
    }
  } else found.push({ path, from, to })
}

/** The parts of a value; null for one that has none, or throws when it is read. */
const branchesOf = (value: unknown): Map<string, unknown> | null => {
  try {
    return Array.isArray(value) || isPlain(value) ? new Map(entriesOf(value, mostEntries)) : null
  } catch {
    return null
  }
}

/** Groups differences: an object at several places is one change, and so are many changes inside one part. */
const together = (found: readonly Difference[]): Difference[][] => {
  const groups = new Map<unknown, Difference[]>()
  const sizes = new Map<string, number>()
  for (const { path } of found) sizes.set(path[0] ?? '', (sizes.get(path[0] ?? '') ?? 0) + 1)
  for (const difference of found) {
    const [top = ''] = difference.path
    const isOne = typeof difference.to === 'object' && difference.to !== null
    const key = (sizes.get(top) ?? 0) > mostInOne ? top : isOne ? difference.to : difference
    groups.set(key, [...(groups.get(key) ?? []), difference])
  }
  return [...groups.values()]
}

const changeOf = (differences: readonly Difference[], secrets: readonly string[]): Change => {
  const [first, second] = differences
  if (!first) return { path: '' }
  if (second && first.to !== second.to) {
    const parts = new Set(differences.map(({ path }) => path[1] ?? ''))
    return {
      path: first.path[0] ?? '',
      after: brief([...parts], secrets)
        .slice(1, -1)
        .replaceAll('","', ', ')
        .replaceAll('"', ''),
    }
  }
  const path = differences.map((each) => written(each.path)).join(', ')
  const { from, to } = first
  if (typeof from === 'string' && typeof to === 'string' && from.length + to.length > 80) {
    const grown = to.length - from.length
    return { path, after: `${grown >= 0 ? '+' : '−'}${Math.abs(grown)} characters` }
  }
  return {
    path,
    ...(from !== undefined && { before: shortened(from, secrets) }),
    ...(to !== undefined && { after: shortened(to, secrets) }),
  }
}

const written = (path: readonly string[]): string =>
  path.reduce(
    (text, key) => (/^\d+$/.test(key) ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  )

/** A value in a few words. A number that can only be a time of these decades is shown as the time of day. */
const shortened = (value: unknown, secrets: readonly string[]): string =>
  typeof value === 'number' && value > 1e12 && value < 4e12
    ? timeOfDay(new Date(value))
    : brief(value, secrets)

const timeOfDay = (date: Date): string =>
  `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
