import { toolResultsOf } from '../../../src/messages/messages.ts'
import type { Evidence } from './Episode.ts'
import type { Effect } from './effects.ts'
import { type Faults, judge, judgeCommands, noFaults, ownId, wasAborted } from './faults.ts'
import { type CallCounts, judgeCalls, type SeenResults } from './judgeCalls.ts'
import type { Fences } from './watchedDriver.ts'

/** The faults of runs, and how much happened in them. */
export type Judgement = { faults: Faults; counts: RunCounts }

export type RunCounts = CallCounts & {
  runs: number
  aborted: number
  /** Restarts that readers got: they discard the text since the last message. */
  restarts: number
  /** Writes that were refused, because their process had lost its runs. */
  refused: number
}

/** Everything that was seen of some runs, put together. `seen`: the results that models saw. */
export const judged = (
  evidence: readonly Evidence[],
  effects: readonly Effect[],
  seen: SeenResults,
  fences: Fences = { refused: 0, committed: [] },
): Judgement => {
  const faults = { ...noFaults(), unfenced: fences.committed }
  const known = new Map([...seen].map(([id, results]) => [id, new Set(results)]))
  for (const each of evidence) {
    judge(each, faults)
    for (const { id, result } of (each.outcome?.messages ?? []).flatMap(toolResultsOf))
      known.set(id, (known.get(id) ?? new Set()).add(result))
  }
  const aborted = evidence.filter(wasAborted).map(({ plan }) => plan.id)
  const isAborted = (callId: string) => aborted.some((id) => callId.startsWith(`${id}.`))
  for (const each of evidence) judgeCommands(each, known, faults)
  const runAgain = evidence.flatMap(({ sent }) =>
    sent.flatMap(({ command, inDoubt, came }) =>
      command.type === 'tool.approve' && inDoubt && came !== 'never' ? [ownId(command.callId)] : [],
    ),
  )
  const counts = judgeCalls(effects, { seen: known, runAgain, isAborted }, faults)
  const restarts = evidence.flatMap(({ readers }) => readers).reduce((sum, { restarts }) => sum + restarts, 0)
  return {
    faults,
    counts: { runs: evidence.length, aborted: aborted.length, restarts, refused: fences.refused, ...counts },
  }
}
