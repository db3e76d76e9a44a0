import { modelFailure } from '../../../machines/model/modelRequest.ts'
import type { ErrorData } from '../../messages/errors.ts'
import type { ModelSink } from '../../model/chatModel.ts'
import type { Delta } from '../../model/delta.ts'
import { isThenable } from '../../tools/isThenable.ts'
import { CommandWatch, hasAbort } from './CommandWatch.ts'
import type { ReplayStream } from './ReplayStream.ts'
import type { NumberedCommand, ReplayEngine } from './replay.ts'

/** One request to a model, as it is recorded. */
export type TurnRecord = {
  deltas: Delta[]
  end: TurnEnd
  /** What came while it was asked. */
  commands: NumberedCommand[]
}

/** `cut`: an abort, or the chart itself, ended it. */
type TurnEnd = { type: 'end' } | { type: 'cut' } | { type: 'failed'; error: ErrorData } | ErrorDelta

type ErrorDelta = Extract<Delta, { type: 'error' }>

export type Turn = {
  ask: (sink: ModelSink) => unknown
  /** The chart, which is shown each read at once, and the end of the answer when that is recorded. */
  sink: ModelSink
  /** Is called when the chart closes the request, at once if it has done so. */
  onClose(close: () => void): void
}

/** Asks a model. The step of a turn runs this. */
export const askModel = async (
  { ask, sink, onClose }: Turn,
  engine: ReplayEngine,
  stream: ReplayStream,
  seen: number,
): Promise<TurnRecord> => {
  const answer = await stream.live()
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
  // At once: a leg that was stopped writes nothing more, and never comes further than this.
  const end = await Promise.race([ended, answer.failed]).finally(() => {
    close()
    watch.stop()
  })
  await answer.end()
  return { deltas, end, commands: await watch.come() }
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

/** Pieces of text that follow each other are one: a record need not know how they came. */
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
