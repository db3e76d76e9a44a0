import type { DurableChunk } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { type StreamEntry, streamKey } from './dbosJournal.ts'
import { workflowOf } from './legWorkflow.ts'
import { pause } from './pause.ts'
import type { Service } from './Service.ts'

/** A place in the stream: the leg, the entry of its stream, and the chunk in the entry. */
type Place = { leg: number; entry: number; chunk: number }

const start: Place = { leg: 1, entry: 0, chunk: -1 }

/** How long to wait before looking for a leg that has not begun. */
const lookMs = 100

/** The chunks of a run after a cursor, through all its legs, until the run is over or waits. */
export async function* readChunks(
  service: Service,
  id: string,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<{ cursor: string; chunk: DurableChunk }, void, undefined> {
  let { leg, entry, chunk: seen } = after === undefined ? start : placeOf(after)
  for (;;) {
    let last = ''
    for await (const { id: entryId, chunks } of entriesOf(service, workflowOf(id, leg), entry, signal)) {
      for (const [index, chunk] of entryId === last ? [] : chunks.entries()) {
        if (index <= seen) continue
        yield { cursor: `${leg}.${entry}.${index}`, chunk }
        if (chunk.pendingApproval) return
      }
      last = entryId
      seen = -1
      entry += 1
    }
    if (signal.aborted) return
    const run = await service.database.insist(() => service.rows.known(id), signal)
    if (run.leg > leg) {
      leg += 1
      entry = 0
      seen = -1
    } else if (run.status !== 'running' && run.status !== 'waiting') return
    else await pause(lookMs, signal)
  }
}

const placeOf = (cursor: string): Place => {
  const [, leg, entry, chunk] = /^([1-9]\d{0,8})\.(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  if (chunk === undefined) throw new ConfigurationError('`after` must be the cursor of a chunk of this run.')
  return { leg: Number(leg), entry: Number(entry), chunk: Number(chunk) }
}

/** The entries of a leg's stream, until the leg is over; none if it has not begun. */
async function* entriesOf(
  { sdk, outside }: Service,
  workflow: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<StreamEntry, void, undefined> {
  const options = { offset, pollingIntervalMs: lookMs }
  const entries = outside(() => sdk.DBOS.readStream<unknown>(workflow, streamKey, options))
  let leave = () => {}
  const left = new Promise<'left'>((resolve) => {
    leave = () => resolve('left')
  })
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  try {
    for (;;) {
      const next = await Promise.race([outside(() => entries.next()), left])
      if (next === 'left' || next.done) return
      yield entryOf(next.value)
    }
  } catch (thrown) {
    if (!(thrown instanceof sdk.Error.DBOSNonExistentWorkflowError)) throw thrown
  } finally {
    signal.removeEventListener('abort', leave)
    void outside(() => entries.return()).catch(() => {})
  }
}

/** What a leg has written by now. */
export async function* writtenChunks(
  { sdk, outside }: Service,
  run: string,
  leg: number,
): AsyncGenerator<DurableChunk, void, undefined> {
  const options = { timeoutSeconds: 0 }
  const entries = outside(() => sdk.DBOS.readStream<unknown>(workflowOf(run, leg), streamKey, options))
  try {
    for (;;) {
      const next = await outside(() => entries.next())
      if (next.done) return
      yield* entryOf(next.value).chunks
    }
  } catch (thrown) {
    const isEnd = sdk.Error.isStreamTimeoutError(thrown)
    if (!isEnd && !(thrown instanceof sdk.Error.DBOSNonExistentWorkflowError)) throw thrown
  }
}

const entryOf = (value: unknown): StreamEntry => {
  const { id, chunks } = isJsonObject(value) ? value : {}
  return {
    id: typeof id === 'string' ? id : '',
    chunks: Array.isArray(chunks) ? chunks.filter(isChunk) : [],
  }
}

const isChunk = (value: JsonValue): value is DurableChunk & JsonValue =>
  isJsonObject(value) &&
  typeof value.output === 'string' &&
  Array.isArray(value.messages) &&
  isJsonObject(value.metadata)
