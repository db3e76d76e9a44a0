import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { addUsage, type Usage } from '../../src/messages/result.ts'
import { noBounds, noRound, unknownWindow } from '../agent/streamingState.ts'
import type { Migration } from './version.ts'

// How snapshots of older releases become such as this one reads. They come from outside: what does not look as expected is
// left as it is, and the check that follows says what is wrong with it.

const inside = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

/** Metadata was one object. */
const totalsTo41 = (totals: JsonValue | undefined): JsonObject => {
  const { metadata, ...rest } = inside(totals)
  const isOld = isJsonObject(metadata)
  const value = inside(metadata)
  return {
    ...rest,
    metadata: isOld ? (Object.keys(value).length > 0 ? [{ pieces: 1, value }] : []) : (metadata ?? null),
  }
}

/** Rounds had no id, nothing was in doubt, and there were no runs of sub-agents. */
const agentTo41: Migration = (stored) => {
  const context = inside(stored.context)
  const isInRound = !JSON.stringify(stored.value ?? null).includes('Accumulating')
  const { inDoubt, interruptions, runs } = noRound
  const added = { id: isInRound ? 'migrated' : '', inDoubt, interruptions, runs: inside(runs as never) }
  const round: JsonObject = { ...added, ...inside(context.round) }
  const run = inside(context.options).id ?? ''
  return {
    ...stored,
    ...(stored.value === 'ToolExecution' && { value: { ToolExecution: 'Working' } }),
    context: { ...context, round, totals: totalsTo41(context.totals) },
    children: childrenTo41(inside(stored.children), run, round.id ?? ''),
  }
}

const childrenTo41 = (children: JsonObject, run: JsonValue, round: JsonValue): JsonObject => {
  const { toolExecutor, approver, ...rest } = children
  const unknown = { run, round, interruptions: {}, inDoubt: [], runs: {}, waiting: {}, commands: {} }
  const asked = inside(inside(approver).snapshot)
  return {
    ...rest,
    ...(isJsonObject(toolExecutor) && {
      toolExecutor: { ...toolExecutor, snapshot: { ...unknown, ...inside(toolExecutor.snapshot) } },
    }),
    ...(isJsonObject(approver) && {
      approver: { ...approver, snapshot: { ...asked, calls: askedTo41(asked.calls) } },
    }),
  }
}

const askedTo41 = (calls: JsonValue | undefined): JsonValue =>
  Array.isArray(calls) ? calls.map((call) => ({ ...inside(call), kind: 'approval' })) : (calls ?? null)

/** Steps were the only limit, conversations were not compacted, and steers were one list. */
const agentTo42: Migration = (stored) => {
  const { emptyAnswers = 0, steering = [], ...context } = inside(stored.context)
  const options = optionsTo42(context.options)
  const { model, ...rest } = inside(stored.children)
  const asked = inside(inside(model).snapshot)
  const input: JsonObject = { ...inside(asked.input), options, isLast: false }
  return {
    ...stored,
    context: {
      ...context,
      options,
      steering: Array.isArray(steering) && steering.length > 0 ? [steering] : steering,
      bounds: { ...noBounds, emptyAnswers },
      window: { ...unknownWindow },
    },
    children: {
      ...rest,
      ...(isJsonObject(model) && { model: { ...model, snapshot: { ...asked, input } } }),
    },
  }
}

const optionsTo42 = (options: JsonValue | undefined): JsonObject => {
  const { maxSteps = 0, ...rest } = inside(options)
  return { ...rest, limits: { steps: maxSteps } }
}

/** The tool executor kept its own account of the calls: which had begun, their results, and what was waited for. */
const agentTo43: Migration = (stored) => {
  const context = inside(stored.context)
  const { toolExecutor, ...rest } = inside(stored.children)
  const executor = inside(inside(toolExecutor).snapshot)
  const round: JsonObject = { waiting: {}, commands: {}, ...inside(context.round) }
  const known = listed(round.results)
  const late = listed(executor.results).filter((result) => !known.some((each) => idOf(each) === idOf(result)))
  const results = [...known, ...late]
  const answered = new Set(results.map(idOf))
  const isOpen = ([id]: [string, unknown]) => !answered.has(id)
  const openOf = (record: JsonValue | undefined) =>
    Object.fromEntries(Object.entries(inside(record)).filter(isOpen))
  return {
    ...stored,
    context: {
      ...context,
      totals: withUsage(context.totals, inside(executor.output).usage),
      round: {
        ...round,
        // A call that an earlier executor had started is cleared once more.
        started: inRuns(listed(executor.begun)),
        results: inRuns(results),
        ...(isJsonObject(toolExecutor) && {
          interruptions: executor.interruptions ?? {},
          waiting: openOf(executor.waiting),
          commands: addressedBelow(openOf(executor.commands)),
        }),
      },
    },
    children: {
      ...rest,
      ...(isJsonObject(toolExecutor) && {
        toolExecutor: { ...toolExecutor, snapshot: { status: 'active', runs: openOf(executor.runs) } },
      }),
    },
  }
}

const listed = (runs: JsonValue | undefined): JsonValue[] => (Array.isArray(runs) ? runs.flat() : [])

const inRuns = (list: JsonValue[]): JsonValue => (list.length > 0 ? [list] : [])

const idOf = (value: JsonValue | undefined): JsonValue => inside(value).id ?? null

/** Commands named calls as the sub-agent does. */
const addressedBelow = (commands: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(commands).map(([id, given]) => [
      id,
      listed(given).map((each) => ({ ...inside(each), callId: `${id}/${String(inside(each).callId)}` })),
    ]),
  )

const withUsage = (totals: JsonValue | undefined, usage: JsonValue | undefined): JsonObject => {
  const { usage: before, ...rest } = inside(totals)
  const added = isJsonObject(usage) ? (addUsage(inside(before) as Usage, usage as Usage) ?? null) : before
  return { ...rest, usage: (added as JsonValue | undefined) ?? null }
}

/** The migrations of snapshots of the lifecycle chart. */
export const agentMigrations: readonly Migration[] = [agentTo41, agentTo42, agentTo43]

/** The migrations of charts that are made of runs; the runs in them are migrated by their own machines. */
export const phasedMigrations = (phases: Readonly<Record<string, object>>): readonly Migration[] => [
  (stored) => {
    const context = inside(stored.context)
    const { value } = stored
    const phase = typeof value === 'string' && Object.hasOwn(phases, value) ? phases[value] : undefined
    return {
      ...stored,
      ...(typeof value === 'string' && phase && 'run' in phase && { value: { [value]: 'Working' } }),
      context: { ...context, totals: totalsTo41(context.totals) },
    }
  },
]
