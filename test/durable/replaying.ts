import type { AnyAgent } from '../../src/agent/Agent.ts'
import type {
  NumberedCommand,
  ReplayEngine,
  SegmentEnd,
  SegmentOptions,
  SegmentStart,
} from '../../src/durable/replay/engine.ts'
import { replaySegment } from '../../src/durable/replay/replaySegment.ts'
import type { AgentCommand } from '../../src/index.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import {
  type EngineKind,
  type Journal,
  memoryEngine,
  newIncarnation,
  newJournal,
} from '../dbos/world/memoryEngine.ts'

/** The setting of a segment: none of it is needed, everything may be replaced. */
type Setting = {
  journal?: Journal
  start?: Partial<SegmentStart>
  kind?: EngineKind
  options?: SegmentOptions
  /** Called at each moment at which the process might end. */
  onMoment?: () => void
  /** Replaces parts of the engine. */
  but?: (engine: ReplayEngine) => Partial<ReplayEngine>
}

export const started: SegmentStart = { from: { input: { prompt: 'Hi', id: 'run' } }, seen: 0 }

/** A segment of a run in a process that lives on. */
export const playSegment = (agent: AnyAgent, setting: Setting = {}): Promise<SegmentEnd> => {
  const { journal = newJournal(), start, kind = 'by name', options, onMoment, but } = setting
  const engine = memoryEngine(journal, { ...newIncarnation(), ...(onMoment && { onMoment }) }, kind)
  return replaySegment(
    agent,
    { ...engine, ...but?.(engine) },
    async () => ({ ...started, ...start }),
    options,
  )
}

/** Reads the records, by name, without their times. */
export const recordsOf = ({ records }: Journal): Record<string, unknown> =>
  Object.fromEntries(
    records.map(({ name, value }) => [name, value === undefined ? 'under way' : timeless(JSON.parse(value))]),
  )

const timeless = (record: unknown): unknown => {
  if (Object(record) !== record || Array.isArray(record)) return record
  const { at: _, ...rest } = Object(record)
  return rest
}

/** Leaves commands for a run, once. */
export const leave = ({ commands }: Journal, ...more: AgentCommand[]): void => {
  commands.push(...more.map((command, nth) => ({ number: commands.length + nth + 1, command })))
}

export const numbered = (...commands: AgentCommand[]): NumberedCommand[] =>
  commands.map((command, nth) => ({ number: nth + 1, command }))

export type Asked = { request: ModelRequest; sink: ModelSink; isClosed: boolean }

/** A model that says nothing by itself: a test reads for it. */
export const silentModel = (): ChatModel & { asked: Asked[]; next(): Promise<Asked> } => {
  const asked: Asked[] = []
  let taken = 0
  let wake = () => {}
  return {
    ...scriptedModel([]),
    asked,
    stream: (request, sink) => {
      const each = { request, sink, isClosed: false }
      asked.push(each)
      wake()
      return () => {
        each.isClosed = true
      }
    },
    /** The next request that is made. */
    next: async () => {
      for (;;) {
        const found = asked[taken]
        if (found) {
          taken += 1
          return found
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
