import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { noBounds, noRound, unknownWindow } from '../agent/streamingState.ts'
import { type Migration, snapshotVersion } from './version.ts'

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
      version: snapshotVersion,
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

/** Of snapshots of the lifecycle chart. */
export const agentMigrations: readonly Migration[] = [agentTo41, agentTo42]

/** Of snapshots of charts that are made of runs; the runs in them are migrated by their own machines. */
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
  (stored) => ({ ...stored, context: { ...inside(stored.context), version: snapshotVersion } }),
]
