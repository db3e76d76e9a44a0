import type { ErrorData } from '../messages/errors.ts'
import { ChunkLog } from './ChunkLog.ts'
import { endChunk, missingChunks } from './runChunks.ts'
import type { DurableChunk } from './runs.ts'
import { hostedFrom } from './sqlite/head.ts'
import { Items } from './sqlite/Items.ts'
import type { RunRow } from './sqlite/RunRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'

/** Shows the readers of a paused run its status: its process died before it could. */
export const tellReaders = (store: OpenStore, row: RunRow): void => {
  const { n, base, head, status } = row
  const items = store.items.load(n, base)
  const from = hostedFrom(head, items)
  const snapshot = 'snapshot' in from ? from.snapshot : undefined
  const chunks = missingChunks({ ...row, snapshot }, store.stream.tail(n))
  close(store, row, items, chunks, () => store.runs.stand(n, status, false))
}

/** Abandons a run. What it could continue from stays in the store. */
export const giveUp = (store: OpenStore, row: RunRow, error: ErrorData): void =>
  close(store, row, new Items(), [endChunk('error')], () => store.runs.giveUp(row.n, error, Date.now()))

const close = (
  store: OpenStore,
  { n, life }: RunRow,
  items: Items,
  chunks: readonly DurableChunk[],
  change: () => void,
): void => {
  // A new life: readers may have seen more of the last one than was stored.
  const log = new ChunkLog(items, store.stream.tail(n), life + 1)
  for (const chunk of chunks) log.push(chunk)
  store.file.write('normal', () => {
    store.runs.takeUp(n, life + 1, 0)
    store.items.insert(n, items.fresh)
    log.writeTo(store.stream, n)
    change()
  })
}
