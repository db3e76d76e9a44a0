import { restartChunks } from '../../../machines/agent/announcements.ts'
import { isNewlineDue } from '../../../machines/agent/answer.ts'
import type { AgentOutput } from '../../../machines/agent/events.ts'
import type { StreamingState } from '../../../machines/agent/streamingState.ts'
import { isRun } from '../../../machines/tools/pendingCalls.ts'
import type { AnyAgent } from '../../agent/options.ts'
import { type ErrorData, errorDataOf } from '../../messages/errors.ts'
import { isJsonObject } from '../../messages/json.ts'
import { isMessage } from '../../messages/messageFlaw.ts'
import type { PendingCall } from '../../messages/result.ts'
import { chunkWith, endChunk, restartChunk, waitChunk } from '../chunks.ts'
import type { DurableChunk, RunStatus } from '../runs.ts'
import { contextsIn, messagesOf } from '../snapshots.ts'
import { ChunkLog, type StreamTail } from './ChunkLog.ts'
import { HostedRun, type HostedSetup } from './HostedRun.ts'
import { Items } from './Items.ts'
import { LostOwnership } from './Ownership.ts'
import type { OwnerOptions, RunRequest } from './ownerOptions.ts'
import { hostedFrom } from './pack.ts'
import { type Checkpoint, infoOf, notStarted, type RunRow } from './runRow.ts'
import type { OpenStore } from './sqlite.ts'
import { DamagedData } from './storeErrors.ts'

/** The reason why a run cannot continue: its agent refuses the snapshot, or its data is damaged. */
type Unrestorable = { error: ErrorData; isRefused: boolean }

type Listeners = Pick<HostedSetup, 'onChange' | 'onStop' | 'checkOwner' | 'takeCommands'>

/** Makes a new run ready in this process; `start` stores it with `insert`, and begins it. */
export const beginRun = (
  store: OpenStore,
  run: RunRequest,
  insert: (checkpoint: Checkpoint) => number,
  items: Items,
  { agents, context }: OwnerOptions,
  listeners: Listeners,
): HostedRun => {
  const { id, agent, input } = run
  const now = Date.now()
  const row = { ...run, ...notStarted, n: 0, incarnation: 0, blocked: undefined, created: now, updated: now }
  const stored: unknown = run.context === undefined ? undefined : JSON.parse(run.context)
  return new HostedRun({
    ...listeners,
    id,
    store,
    agent: agents.get(agent),
    from: { input },
    answer: run.answer,
    conversation: run.conversation,
    items,
    context: context(stored, infoOf(row)),
    tail: { seq: 0, incarnation: 0, delivered: 0, isOpen: false },
    incarnation: 1,
    recoveries: 0,
    released: 0,
    hidden: 0,
    stoppedMs: 0,
    stored: undefined,
    insert: (checkpoint) => {
      const n = insert(checkpoint)
      store.runs.beginIncarnation(n, 1, 0)
      return n
    },
  })
}

/** Makes a stored run ready to continue in this process; `start` continues it. */
export const restoreRun = (
  store: OpenStore,
  row: RunRow,
  agent: AnyAgent,
  context: unknown,
  listeners: Listeners & Pick<HostedSetup, 'unstored'>,
): HostedRun | Unrestorable => {
  const { id, n, status, isUnsettled, packedSnapshot, hidden, answer } = row
  const incarnation = row.incarnation + 1
  // The first incarnation of a run that another process has stored does not follow a crash.
  const recoveries = status === 'running' && row.incarnation > 0 ? row.recoveries + 1 : row.recoveries
  const tail = store.stream.tail(n)
  try {
    const items = store.items.load(n, row.base)
    const from = hostedFrom(packedSnapshot, items)
    const stored = { n, packedSnapshot, status, isUnsettled, due: row.due }
    const place = { id, store, items, tail, incarnation, recoveries, released: row.recoveries, stored }
    const stoppedMs = status === 'running' ? Math.max(0, Date.now() - row.updated) : 0
    const conversation = store.chats.ofRun(n)
    const parts = { agent, from, context, conversation, answer, hidden, stoppedMs }
    const run = new HostedRun({ ...place, ...parts, ...listeners })
    if (run.refusal) return { error: run.refusal, isRefused: true }
    if (status === 'running' && 'snapshot' in from)
      run.show(missingChunks({ ...row, snapshot: from.snapshot }, tail))
    return run
  } catch (thrown) {
    if (thrown instanceof DamagedData) return { error: errorDataOf(thrown), isRefused: false }
    throw thrown
  }
}

/** Shows the readers of a run that waits or is over its status: its process died before it could. */
export const showStatus = (store: OpenStore, row: RunRow, checkOwner: () => void): void => {
  const { n, base, packedSnapshot, status } = row
  const items = store.items.load(n, base)
  const from = hostedFrom(packedSnapshot, items)
  const snapshot = 'snapshot' in from ? from.snapshot : undefined
  const chunks = missingChunks({ ...row, snapshot }, store.stream.tail(n))
  settle(store, row, items, chunks, () => {
    checkOwner()
    store.runs.setStatus(n, { status, isUnsettled: false, due: row.due })
  })
}

/** Abandons a run. The snapshot that it could continue from stays in the store. */
export const abandonRun = (store: OpenStore, row: RunRow, error: ErrorData, checkOwner: () => void): void =>
  settle(store, row, new Items(), [endChunk('error')], () => {
    checkOwner()
    store.runs.abandon(row.n, error, Date.now())
  })

const settle = (
  store: OpenStore,
  { n, incarnation }: RunRow,
  items: Items,
  chunks: readonly DurableChunk[],
  change: () => void,
): void => {
  // A new incarnation: readers may have seen more of the last one than was stored.
  const log = new ChunkLog(items, store.stream.tail(n), incarnation + 1)
  for (const chunk of chunks) log.push(chunk)
  store.file.write('full', () => {
    if (!store.runs.beginIncarnation(n, incarnation + 1, 0)) throw new LostOwnership()
    store.items.insert(n, items.fresh)
    log.writeTo(store.stream, n)
    change()
  })
}

/** The state of a run, by its row and its stored snapshot. */
export type StoredState = {
  snapshot: unknown
  status: RunStatus
  pending: readonly PendingCall[]
  /** Messages that its chart did not show. */
  hidden: number
}

/**
 * Chunks that the readers of a run must still get before it continues: its process died after a step was stored, and
 * before what the step shows was. Readers discard the text of an answer that is requested again.
 */
export const missingChunks = (
  { snapshot, status, pending, hidden }: StoredState,
  { delivered, isOpen }: StreamTail,
): DurableChunk[] => {
  const contexts = contextsIn(snapshot)
  const id = contexts.map(responseIdOf).find((each) => each !== '') ?? ''
  const messages = messagesOf(snapshot)
    .slice(delivered + hidden)
    .filter(isMessage)
  const shown = messages.map((message) => chunkWith({ id, messages: [message] }))
  // One that only sleeps has nothing to ask: its readers read on.
  if (status === 'waiting') return pending.length > 0 ? [...shown, waitChunk(pending)] : shown
  if (status !== 'running') return [...shown, lastChunk(snapshot)]
  const run = contexts.find(isRun)
  const partial = run ? partialText(run) : ''
  if (messages.length > 0 || !(isOpen || partial !== '')) return shown
  if (!run) return [restartChunk()]
  const again = [...restartChunks(run), ...(partial === '' ? [] : [chunkWith({ output: partial })])]
  return again.map(({ output, metadata }) => chunkWith({ id, output, metadata }))
}

/**
 * The text of the answer that is stored with a run, as readers get it. The model is asked again; but if the run is aborted
 * or gets a message before, this text stays in the conversation.
 */
const partialText = (run: StreamingState): string => {
  const { chunks, accumulated } = run.answer
  if (chunks === 0 || accumulated.text === '') return ''
  return isNewlineDue(run) ? `\n${accumulated.text}` : accumulated.text
}

const lastChunk = (snapshot: unknown): DurableChunk => {
  const output = isJsonObject(snapshot) && isJsonObject(snapshot.output) ? snapshot.output : undefined
  // A run that broke has no output.
  if (!output) return endChunk('error')
  const { id, finishReason, rawFinishReason, usage, warnings } = output as Partial<AgentOutput>
  return chunkWith({
    ...(id !== undefined && { id }),
    finishReason: finishReason ?? 'error',
    ...(rawFinishReason !== undefined && { rawFinishReason }),
    ...(usage && { usage }),
    ...(warnings && { warnings }),
  })
}

const responseIdOf = ({ totals }: Readonly<Record<string, unknown>>): string =>
  isJsonObject(totals) && typeof totals.responseId === 'string' ? totals.responseId : ''
