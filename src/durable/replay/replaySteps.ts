import { createHash } from 'node:crypto'
import type { CheckOutcome } from '../../../machines/logic/runEnvironment.ts'
import { modelFailure } from '../../../machines/model/modelRequest.ts'
import type { HostedFrom } from '../../agent/options.ts'
import { describeThrown, type ErrorData } from '../../messages/errors.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import type { ModelSink } from '../../model/chatModel.ts'
import type { Delta } from '../../model/delta.ts'
import { isThenable } from '../../tools/isThenable.ts'
import { asToolResult, errorResult } from '../../tools/toolResult.ts'
import type { NumberedCommand, ReplayEngine } from './engine.ts'
import type { ReplayStream } from './ReplayStream.ts'

/** A request to a model, as it is recorded. */
export type TurnRecord = {
  deltas: Delta[]
  end: TurnEnd
  /** Commands that came while it was asked. */
  commands: NumberedCommand[]
  /** The time at its end. */
  at: number
}

/** The end of a request. `cut`: an abort, or the chart itself, ended it. */
type TurnEnd = { type: 'end' } | { type: 'cut' } | { type: 'failed'; error: ErrorData } | ErrorDelta

type ErrorDelta = Extract<Delta, { type: 'error' }>

/** A request that a chart makes. */
export type Turn = {
  ask: (sink: ModelSink) => unknown
  /** The chart, which gets each read immediately, and the end of the answer when that is recorded. */
  sink: ModelSink
  /** Says whether the stream of the run shows the answer as it comes. */
  isShown(): boolean
  /** Calls back when the chart closes the request, or immediately if it has done so. */
  onClose(close: () => void): void
}

/** Asks a model: the body of a turn's step. */
export const askModel = async (
  { ask, sink, isShown, onClose }: Turn,
  engine: ReplayEngine,
  stream: ReplayStream,
  seen: number,
): Promise<TurnRecord> => {
  const answer = await stream.live(isShown())
  const watch = new CommandWatch(engine, seen)
  const deltas: Delta[] = []
  let close = () => {}
  const ended = new Promise<TurnEnd>((resolve) => {
    let isOver = false
    const end = (how: TurnEnd) => {
      isOver = true
      resolve(how)
    }
    const fail = (thrown: unknown) => end({ type: 'failed', error: modelFailure(thrown) })
    onClose(() => end({ type: 'cut' }))
    watch.aborted.then(() => end({ type: 'cut' }))
    if (isOver) return
    close = closing(
      () =>
        ask({
          deltas: (read) => {
            if (isOver) return
            if (!Array.isArray(read)) return fail(new TypeError('The model did not send a list of deltas.'))
            // An error ends the answer for the chart: the chart may get it only when it is recorded.
            const last = read.at(-1)
            const good = last?.type === 'error' ? read.slice(0, -1) : read
            for (const delta of good) addDelta(deltas, delta)
            if (good.length > 0) stream.read(answer, () => sink.deltas(good))
            if (last?.type === 'error') end(last)
          },
          end: () => end({ type: 'end' }),
          fail,
        }),
      fail,
    )
  })
  // Not after the last write: a segment that was stopped writes nothing more, and never comes further than this.
  const end = await Promise.race([ended, answer.failed]).finally(() => {
    close()
    watch.stop()
  })
  await answer.end()
  return { deltas, end, commands: await watch.received(), at: Date.now() }
}

/** Plays a recorded answer to a chart; {@link endTurn} ends it. */
export const showTurn = ({ deltas }: TurnRecord, { sink }: Turn, stream: ReplayStream): void => {
  if (deltas.length > 0) stream.replayed(() => sink.deltas(deltas))
}

/** Reports to a chart how an answer ended. */
export const endTurn = ({ end, commands }: TurnRecord, { sink }: Turn): void => {
  if (end.type === 'end') sink.end()
  else if (end.type === 'failed') sink.fail(end.error)
  else if (end.type === 'error') sink.deltas([end])
  // Only a chart that takes no abort still listens. One that lost patience does so again, by its own clock.
  else if (hasAbort(commands)) sink.fail({ name: 'AbortedError', message: 'The request was aborted.' })
}

/** Joins pieces of text that follow each other: a record need not know how they came. */
const addDelta = (deltas: Delta[], delta: Delta): void => {
  const last = deltas.at(-1)
  if ((delta.type === 'text' || delta.type === 'thinking') && last?.type === delta.type)
    deltas[deltas.length - 1] = { type: delta.type, text: last.text + delta.text }
  else deltas.push(delta)
}

/** Asks, and returns a function that closes the request, even if a user's model throws or returns a promise. */
const closing = (ask: () => unknown, fail: (thrown: unknown) => void): (() => void) => {
  try {
    const returned = ask()
    if (isThenable(returned)) Promise.resolve(returned).catch(fail)
    return () => void Promise.resolve(returned).then(closed, () => {})
  } catch (thrown) {
    fail(thrown)
    return () => {}
  }
}

const closed = (close: unknown): void => {
  try {
    if (typeof close === 'function') close()
  } catch {
    // The request is over: an error while closing it does not matter.
  }
}

/** An attempt at a call of a tool, as it is recorded. */
type CallRecord =
  | { type: 'result'; result: ToolResultPart; commands: NumberedCommand[]; at: number }
  /** An abort came before the tool was done. */
  | { type: 'cut'; commands: NumberedCommand[]; at: number }
  /** The call had started in an earlier incarnation, and it is not known whether it took effect. */
  | { type: 'inDoubt' }

/** The end of the name of the step that says that a call is going to run. */
export const intentSuffix = ' intent'

/**
 * Makes two steps of a call. The first says that the tool is going to run; it is recorded before the tool runs. If it is
 * recorded without a result, the call is in doubt. Both take their places right away, so that parallel calls have the
 * same places in every incarnation.
 */
export const recordedCall = (
  name: string,
  execute: () => Promise<ToolResultPart>,
  engine: ReplayEngine,
  seen: () => number,
): Promise<CallRecord> => {
  let isNew = false
  const intent = engine.step(name + intentSuffix, async () => {
    isNew = true
    return null
  })
  intent.catch(() => {})
  return engine.step<CallRecord>(name, async () => {
    await intent
    return isNew ? await attempt(execute, engine, seen()) : { type: 'inDoubt' }
  })
}

const attempt = async (
  execute: () => Promise<ToolResultPart>,
  engine: ReplayEngine,
  seen: number,
): Promise<CallRecord> => {
  const watch = new CommandWatch(engine, seen)
  const result = await Promise.race([executed(execute), watch.aborted])
  const commands = await watch.received()
  const at = Date.now()
  return result ? { type: 'result', result, commands, at } : { type: 'cut', commands, at }
}

/** A check of a policy, as it is recorded; without an outcome, an abort came before its end. */
type CheckRecord = { outcome?: CheckOutcome; commands: NumberedCommand[] }

/** Makes a check of a policy: the body of its step. */
export const makeCheck = async (
  run: () => Promise<CheckOutcome>,
  engine: ReplayEngine,
  seen: number,
): Promise<CheckRecord> => {
  const watch = new CommandWatch(engine, seen)
  const outcome = await Promise.race([run(), watch.aborted])
  const commands = await watch.received()
  return { ...(outcome && { outcome }), commands }
}

/** A result without the name of its call, which the actor of the call adds. */
const unnamed = { id: '', name: '' }

/** Executes a call. A user's executor may throw, and may return anything. */
const executed = async (execute: () => Promise<ToolResultPart>): Promise<ToolResultPart> => {
  try {
    const result = await execute()
    return asToolResult({ ...unnamed, ...result }, result)
  } catch (thrown) {
    return errorResult(unnamed, describeThrown(thrown))
  }
}

/** The result of a call that an abort cut short, for a chart that takes no abort. */
export const cutResult: ToolResultPart = errorResult(
  unnamed,
  'The run was aborted while this tool was running; whether it took effect is unknown.',
)

/** Time between two looks for commands. */
const lookEveryMs = 500

/**
 * Looks for commands while a step is under way: an abort cuts the step short, and all that have come are recorded with it.
 * So a replay gives them to the chart at the same place.
 */
class CommandWatch {
  readonly #look: () => Promise<NumberedCommand[]>
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #cut: () => void = () => {}
  /** Resolves when an abort has come. */
  readonly aborted = new Promise<void>((resolve) => {
    this.#cut = resolve
  })

  constructor({ commands }: Pick<ReplayEngine, 'commands'>, after: number) {
    this.#look = () => commands(after)
    void this.#watch()
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  /** Stops, and returns the commands that have come. Those that cannot be read now are there for the next step. */
  async received(): Promise<NumberedCommand[]> {
    this.stop()
    return await this.#look().catch(() => [])
  }

  async #watch(): Promise<void> {
    const received = await this.#look().catch((): NumberedCommand[] => [])
    if (hasAbort(received)) this.#cut()
    else if (!this.#isOver) this.#timer = setTimeout(() => void this.#watch(), lookEveryMs)
  }
}

const hasAbort = (commands: readonly NumberedCommand[]): boolean =>
  commands.some(({ command }) => command.type === 'abort')

/**
 * Makes the ids of a segment: the same ones in every incarnation. A segment that continues from a snapshot makes other
 * ids than the segments before it, and each run of a segment, such as that of a sub-agent, counts for itself.
 */
export const replayIds = (from: HostedFrom): ((run: string) => string) => {
  const seed = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  const made = new Map<string, number>()
  return (run) => {
    const nth = (made.get(run) ?? 0) + 1
    made.set(run, nth)
    return uuidOf(`${seed} ${run} ${nth}`)
  }
}

/** Makes a UUID of version 8, which is free for any use, from a text. */
const uuidOf = (text: string): string => {
  const hash = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join('-')
}
