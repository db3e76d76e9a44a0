import { questionRows } from './questionRows.ts'
import type { Recorder } from './Recorder.ts'
import { askedBefore, attemptRow, historyRows, toolRowsOf } from './rows.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { usageOf } from './Watch.ts'
import type { AttemptRow, Watched } from './wire.ts'

/** The conversation of a run as it is: for a page that shows it inside or beside another one. Its moments are left out. */
export const wholeRun = (recorder: Recorder, record: Subject): Watched => {
  const { secrets } = recorder
  if (record instanceof StoredRecord) record.watch()
  else recorder.look(record)
  const attempts = record.attempts.map(
    (attempt, index): AttemptRow => ({
      ...attemptRow(attempt, index, secrets),
      text: attempt.text.pieces.join(''),
      thinking: attempt.thinking.pieces.join(''),
      asked: askedBefore(record, index, secrets),
    }),
  )
  return {
    id: record.id,
    history: historyRows(record, secrets),
    attempts,
    tools: toolRowsOf(recorder, record),
    questions: questionRows(record, secrets),
    usage: usageOf(record),
  }
}
