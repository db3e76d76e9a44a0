import { describeMachine } from '../visualize/describeMachine.ts'
import { type ActorRecord, mostMoments } from './ActorRecord.ts'
import { actorRow } from './actorRow.ts'
import { safeJson } from './Pages.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { pastMoment } from './rows.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { Watch } from './Watch.ts'
import { wireContent, wireView } from './wireRows.ts'
import type { Recording } from './wireView.ts'

/** Moments with their whole context, in characters: a run has the same context many times. */
const mostPast = 12 * 1024 * 1024

/** How long the process is kept busy at a time. */
const busyMs = 5

/**
 * A run with everything that is known of it, as the pieces of one JSON text (see {@link Recording}). They are made one
 * after the other, with pauses: the process that is watched has other things to do.
 */
export async function* recordingOf(recorder: Recorder, subject: Subject): AsyncGenerator<string> {
  const { secrets } = recorder
  const subjects = partsOf(recorder, subject)
  const json = (value: unknown) => safeJson(value, secrets)
  const pause = pauses()
  const rows = subjects.map((each) => ({ ...actorRow(each, secrets), canAbort: false, canRestart: false }))
  const head: Omit<Recording, 'watched' | 'answers'> = {
    statewire: 'recording',
    version: 1,
    at: Date.now(),
    limits: { moments: mostMoments, runs: mostRuns },
    actors: rows,
  }
  yield `${json(head).slice(0, -1)},"watched":{`
  for (const [index, each] of subjects.entries()) {
    await pause()
    yield `${index > 0 ? ',' : ''}"${each.id}":${json(new Watch(recorder, each).next() ?? { id: each.id })}`
  }
  yield '},"answers":{"":null'
  for await (const [path, value] of answersOf(recorder, subjects)) {
    await pause()
    yield `,${JSON.stringify(path)}:${json(value)}`
  }
  yield '}}'
}

/** What a page would ask for, and the answers. */
async function* answersOf(recorder: Recorder, subjects: Subject[]): AsyncGenerator<[string, unknown]> {
  const { secrets } = recorder
  let left = mostPast
  for (const subject of subjects) {
    const { id, machine } = subject
    if (machine) yield [`chart?actor=${id}`, describeMachine(machine)]
    yield [`run?actor=${id}`, new Watch(recorder, subject).next() ?? {}]
    const view = wireView(subject, secrets)
    yield [`wire?actor=${id}`, view]
    for (const call of view.calls)
      yield [`call?actor=${id}&call=${call.id}`, wireContent(subject, call.id, secrets)]
  }
  // The last moments of each actor matter most.
  for (const subject of subjects) {
    for (const { seq } of subject.moments.toReversed()) {
      const moment = left > 0 && pastMoment(recorder, subject, seq)
      if (!moment) break
      left -= JSON.stringify(moment).length
      yield [`moment?actor=${subject.id}&seq=${seq}`, moment]
    }
  }
}

/** The actors of a run, its agents first. */
const partsOf = ({ actors }: Recorder, subject: Subject): Subject[] => {
  if (subject instanceof StoredRecord) return [subject]
  const all = [...actors.values()].filter(({ root }) => root === subject.root)
  const weight = (record: ActorRecord) => (record.isAgent ? 0 : record.machine ? 1 : 2)
  return all.sort((a, b) => weight(a) - weight(b) || a.id - b.id)
}

const pauses = () => {
  let since = performance.now()
  return async (): Promise<void> => {
    if (performance.now() - since < busyMs) return
    await new Promise((resolve) => setTimeout(resolve, busyMs))
    since = performance.now()
  }
}
