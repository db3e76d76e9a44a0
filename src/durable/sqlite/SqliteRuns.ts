import { existsSync } from 'node:fs'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { openIn } from '../../../machines/tools/pendingCalls.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import type { Part } from '../../messages/messages.ts'
import { checkValue, wholeFrom } from '../../messages/optionRules.ts'
import { newId } from '../../model/newId.ts'
import { conversationOf, forkedHistory, renameRun } from '../conversation.ts'
import { checkId, contextJson, isDate, isStatus, promptText, unknownRun } from '../runOptions.ts'
import {
  type DurableChat,
  type DurableRun,
  endStatuses,
  type RunInfo,
  type RunStatus,
  type Runs,
  type StartOptions,
  type StoredRuns,
} from '../runs.ts'
import { baseIn } from './Items.ts'
import type { RunRequest } from './ownerOptions.ts'
import { extentOf, hostedFrom, pack } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import { infoOf, type RunRow, type RunSummary } from './RunRows.ts'
import { SqliteChat } from './SqliteChat.ts'
import { numberIn, type SqliteFile } from './SqliteFile.ts'
import { SqliteRun } from './SqliteRun.ts'
import { filePath } from './sqlite.ts'

/** Runs on a page of a list. */
const usualLimit = 100

/** The runs of a file. */
export class SqliteRuns implements StoredRuns {
  readonly #owner: RunOwner

  constructor(owner: RunOwner) {
    this.#owner = owner
  }

  async start(agent: string, prompt: string | Part[], options: StartOptions = {}): Promise<DurableRun> {
    const { id = newId(), history, context } = options
    // A process without agents may ask for a run by its id; it has no agent to start a new one.
    if (this.#owner.isGuest && !this.#summary(id))
      throw new ConfigurationError('These runs were opened without agents: nothing can be started here.')
    const input = { prompt, id, ...(history && { history }) }
    return this.#begin({ id, agent, prompt: promptText(prompt), input, context: contextJson(context) })
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const known = this.#summary(id)
    return known && new SqliteRun(this.#owner, known)
  }

  async list(options: Parameters<Runs['list']>[0] = {}): Promise<RunInfo[]> {
    const { status, agent, limit = usualLimit, before } = options
    checkStatus(status)
    checkValue('limit', limit, wholeFrom(1))
    const newest = before === undefined ? Number.MAX_SAFE_INTEGER : this.#known(before).n
    const { runs } = this.#owner.store
    return runs.list(newest, limit, status ?? null, agent ?? null).map(infoOf)
  }

  async send(id: string, command: AgentCommand): Promise<void> {
    await outsideOfSteps
    this.#owner.send(id, command)
  }

  async fork(id: string, options: Parameters<Runs['fork']>[1] = {}): Promise<DurableRun> {
    const { atStep, agent, id: ownId = newId() } = options
    checkId(ownId)
    await outsideOfSteps
    const from = this.#owner.store.runs.byNumber(this.#known(id).n)
    if (this.#summary(ownId)) throw new ConfigurationError(`There is a run "${ownId}" already.`)
    if (from) forkRun(this.#owner, from, { id: ownId, agent: agent ?? from.agent, atStep })
    return new SqliteRun(this.#owner, this.#known(ownId))
  }

  async prune(options: Parameters<Runs['prune']>[0]): Promise<number> {
    const { olderThan, status } = options
    checkValue('olderThan', olderThan, isDate)
    checkStatus(status)
    await outsideOfSteps
    return pruneRuns(this.#owner, olderThan.getTime(), status ? [status] : endStatuses)
  }

  async chat(id: string, { agent }: { agent?: string } = {}): Promise<DurableChat> {
    checkId(id)
    return SqliteChat.open(this.#owner, id, agent, (run) => this.#begin(run))
  }

  async backup(path: string): Promise<void> {
    checkValue('The path of a backup', path, filePath)
    if (existsSync(path))
      throw new ConfigurationError(`"${path}" exists already: give the backup a new path.`)
    await outsideOfSteps
    this.#owner.store.file.copyTo(path)
  }

  async close(): Promise<void> {
    await outsideOfSteps
    this.#owner.close()
  }

  async #begin(run: RunRequest): Promise<DurableRun> {
    const { id } = run
    checkId(id)
    await outsideOfSteps
    const known = this.#summary(id)
    if (known) return new SqliteRun(this.#owner, known)
    try {
      this.#owner.begin(run)
    } catch (thrown) {
      // Another process may have started it meanwhile.
      if (!this.#summary(id)) throw thrown
    }
    return new SqliteRun(this.#owner, this.#known(id))
  }

  #summary(id: string): RunSummary | undefined {
    return this.#owner.store.runs.summary(id)
  }

  #known(id: string): RunSummary {
    const run = this.#summary(id)
    if (!run) throw unknownRun(id)
    return run
  }
}

/** A tick to wait for: a call from inside a step of a run, such as from a tool, must not be part of that step. */
const outsideOfSteps = Promise.resolve()

const checkStatus = (status: unknown): void => {
  if (status !== undefined) checkValue('status', status, isStatus)
}

type Fork = { id: string; agent: string; atStep: number | undefined }

/** Stores a run that continues from another one. It shares the other's messages: nothing is copied. */
const forkRun = (owner: RunOwner, origin: RunRow, { id, agent, atStep }: Fork): void => {
  const { store } = owner
  const items = store.items.load(origin.n, origin.base)
  const from = hostedFrom(origin.packedSnapshot, items)
  const context: string | undefined = JSON.stringify(store.runs.context(origin.n))
  const taken = { id, agent, context, prompt: origin.prompt, forkedFrom: origin.id }
  const isUnderWay = 'input' in from || from.snapshot.status === 'active'
  if (atStep === undefined && isUnderWay) {
    renameRun(from, origin.id, id)
    const packedSnapshot = pack(from, items)
    owner.adopt({
      ...origin,
      ...taken,
      status: origin.status === 'waiting' ? 'waiting' : 'running',
      isUnsettled: true,
      recoveries: 0,
      hidden: 0,
      error: undefined,
      pending: 'snapshot' in from ? openIn(from.snapshot) : [],
      packedSnapshot,
      base: { run: origin.n, counts: extentOf(packedSnapshot) },
    })
    return
  }
  const conversation = conversationOf(from)
  const answers = conversation.added.filter(({ role }) => role === 'model').length
  const step = atStep ?? Math.max(1, answers)
  checkValue('atStep', step, wholeFrom(1))
  const input = { history: forkedHistory(origin.id, conversation, step), id }
  owner.begin({ ...taken, input, base: { run: origin.n, counts: extentOf(pack({ input }, items)) } })
}

/**
 * Deletes runs that have not changed since a moment. Messages that other runs share are kept, and so is the last run of
 * a chat.
 */
const pruneRuns = (owner: RunOwner, before: number, statuses: readonly RunStatus[]): number => {
  const { file, synchronous } = owner.store
  return file.write(synchronous, () => {
    const found = statuses.flatMap((status) =>
      file.all(
        `SELECT n FROM runs WHERE id IS NOT NULL AND status = ? AND updated < ?
         AND NOT EXISTS (SELECT 1 FROM chats WHERE chats.run = runs.n)`,
        status,
        before,
      ),
    )
    for (const row of found) {
      const n = numberIn(row, 'n')
      owner.drop(n)
      for (const table of ['stream', 'commands', 'contexts'])
        file.run(`DELETE FROM ${table} WHERE run = ?`, n)
      file.run(`UPDATE runs SET id = NULL, live = 0, head = '', pending = NULL, error = NULL WHERE n = ?`, n)
    }
    while (deleteUnused(file) > 0);
    for (const row of found) trim(file, numberIn(row, 'n'))
    return found.length
  })
}

/** Deletes pruned runs that no other run builds on; those below them may be next. */
const deleteUnused = (file: SqliteFile): number => {
  const unused = file.all(
    'SELECT n FROM runs WHERE id IS NULL AND NOT EXISTS (SELECT 1 FROM runs AS above WHERE above.base = runs.n)',
  )
  for (const row of unused) {
    file.run('DELETE FROM items WHERE run = ?', numberIn(row, 'n'))
    file.run('DELETE FROM runs WHERE n = ?', numberIn(row, 'n'))
  }
  return unused.length
}

/** Deletes the items of a pruned run that no run above it refers to. */
const trim = (file: SqliteFile, n: number): void => {
  const needed = new Map<number, number>()
  for (const row of file.all('SELECT base, counts FROM runs WHERE base = ?', n))
    for (const [thread, count] of Object.entries(baseIn(row).counts))
      needed.set(Number(thread), Math.max(count, needed.get(Number(thread)) ?? 0))
  for (const row of file.all('SELECT DISTINCT thread FROM items WHERE run = ?', n)) {
    const thread = numberIn(row, 'thread')
    file.run(
      'DELETE FROM items WHERE run = ? AND thread = ? AND idx >= ?',
      n,
      thread,
      needed.get(thread) ?? 0,
    )
  }
}
