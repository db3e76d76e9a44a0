import type { NumberedCommand, ReplayEngine } from '../../../src/durable/replay/engine.ts'
import type { DurableChunk } from '../../../src/durable/runs.ts'

/** Data that outlives a process: the records of a segment, and the stream of the run. */
export type Journal = {
  records: { name: string; value: string | undefined }[]
  stream: DurableChunk[][]
  writes: number
  commands: NumberedCommand[]
  /** The run takes no more commands. */
  isClosed: boolean
}

export const newJournal = (before?: Journal): Journal => ({
  records: [],
  stream: before?.stream ?? [],
  writes: 0,
  commands: before?.commands ?? [],
  isClosed: false,
})

/** The process dies at the n-th moment at which it matters; undefined: it lives on. */
export type Incarnation = {
  diesAt: number | undefined
  moments: number
  end: AbortController
  /** Is called at each of these moments. */
  onMoment?: () => void
}

export const newIncarnation = (diesAt?: number): Incarnation => ({
  diesAt,
  moments: 0,
  end: new AbortController(),
})

const never = new Promise<never>(() => {})

/**
 * The way in which an engine finds a record: by its name, or, if it counts steps, by its place. Then steps must be begun in
 * the same order in every incarnation. Some engines wait for one step at a time.
 */
export type EngineKind = 'by name' | 'by place' | 'one by one'

/**
 * An engine in memory. It is not a mock of one: it keeps what `ReplayEngine` promises, and a segment cannot see a difference. What
 * DBOS keeps of it is tested in test/dbos, with a real Postgres.
 */
export const memoryEngine = (journal: Journal, incarnation: Incarnation, kind: EngineKind): ReplayEngine => {
  const engine = unordered(journal, incarnation, kind !== 'by name')
  if (kind !== 'one by one') return engine
  let last: Promise<unknown> = Promise.resolve()
  const after = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work)
    last = next
    return next
  }
  return {
    step: (name, run) => after(() => engine.step(name, run)),
    write: (chunks, isLive) =>
      isLive ? engine.write(chunks, isLive) : after(() => engine.write(chunks, isLive)),
    commands: engine.commands,
  }
}

const unordered = (journal: Journal, incarnation: Incarnation, byPlace: boolean): ReplayEngine => {
  let place = 0
  let written = 0
  /** Resolves unless this is the moment at which the process dies. */
  const survive = async (): Promise<void> => {
    // A process does not die in the middle of a step of its chart and then continue it.
    await null
    if (incarnation.end.signal.aborted) return await never
    incarnation.moments += 1
    incarnation.onMoment?.()
    if (incarnation.moments === incarnation.diesAt) incarnation.end.abort()
    if (incarnation.end.signal.aborted) return await never
  }
  const found = (name: string): { name: string; value: string | undefined } => {
    const known = byPlace ? journal.records[place] : journal.records.find((each) => each.name === name)
    place += 1
    if (known && known.name !== name) throw new Error(`"${name}" finds the record of "${known.name}"`)
    if (known) return known
    const record = { name, value: undefined }
    journal.records.push(record)
    return record
  }
  return {
    step: async <T>(name: string, run: () => Promise<T>): Promise<T> => {
      const record = found(name)
      if (record.value === undefined) {
        const value = await run()
        await survive()
        record.value = JSON.stringify(value)
      }
      await survive()
      return JSON.parse(record.value)
    },
    write: async (chunks, isLive) => {
      await survive()
      if (!isLive) {
        written += 1
        if (written <= journal.writes) return
        journal.writes += 1
      }
      journal.stream.push([...chunks])
      await survive()
    },
    commands: async (after, isEnd) => {
      const found = journal.commands.filter(({ number }) => number > after)
      if (isEnd) journal.isClosed ||= found.length === 0
      return found
    },
  }
}
