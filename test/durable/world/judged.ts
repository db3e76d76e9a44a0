import { toolResultsOf } from '../../../src/messages/messages.ts'
import type { Evidence } from './Episode.ts'
import type { Effect } from './effects.ts'
import { type Faults, judge, judgeCommands, noFaults, ownId } from './faults.ts'
import { type CallCounts, judgeCalls, type ToldResults } from './judgeCalls.ts'

/** What is wrong with runs, and how much happened in them. */
export type Judgement = { faults: Faults; counts: RunCounts }

export type RunCounts = CallCounts & {
  runs: number
  aborted: number
  /** How often a reader was told that what it has is void. */
  restarts: number
}

/** Everything that was seen of some runs, put together. `told` is what models were shown. */
export const judged = (
  evidence: readonly Evidence[],
  effects: readonly Effect[],
  told: ToldResults,
): Judgement => {
  const faults = noFaults()
  const known = new Map([...told].map(([id, results]) => [id, new Set(results)]))
  for (const each of evidence) {
    judge(each, faults)
    for (const { id, result } of (each.outcome?.messages ?? []).flatMap(toolResultsOf))
      known.set(id, (known.get(id) ?? new Set()).add(result))
  }
  const aborted = evidence.filter(({ outcome }) => outcome?.status === 'aborted').map(({ plan }) => plan.id)
  const isAborted = (callId: string) => aborted.some((id) => callId.startsWith(`${id}.`))
  for (const each of evidence) judgeCommands(each, known, faults)
  const runAgain = evidence.flatMap(({ told }) =>
    told.flatMap(({ command, inDoubt, came }) =>
      command.type === 'tool.approve' && inDoubt && came !== 'never' ? [ownId(command.callId)] : [],
    ),
  )
  const counts = judgeCalls(effects, { told: known, runAgain, isAborted }, faults)
  const restarts = evidence.flatMap(({ readers }) => readers).reduce((sum, { restarts }) => sum + restarts, 0)
  return { faults, counts: { runs: evidence.length, aborted: aborted.length, restarts, ...counts } }
}
