import type { Effect } from './effects.ts'
import type { Faults } from './faults.ts'
import { toolOf } from './script.ts'

/** Counts of the calls. */
export type CallCounts = {
  /** Calls that ran at all. */
  ran: number
  /** Calls whose effect is unknown to the model, in runs that were not aborted. */
  inDoubt: number
  /** Calls among them that had come to their end. */
  inDoubtButDone: number
  /** Run again because their tool, or a person, says so. */
  rerun: number
}

/** The results of each call that models saw, and those in stored histories. More than one is one too many. */
export type SeenResults = Map<string, Set<string>>

/** Facts about calls beside their effects. */
export type KnownOfCalls = {
  seen: SeenResults
  /** The calls in doubt that a person wanted to run again, once for each time. */
  runAgain: readonly string[]
  /** Says whether the run of a call was aborted. */
  isAborted(callId: string): boolean
}

/** Adds what is wrong with the calls: what they did, by the file of their effects, beside the results that were seen. */
export const judgeCalls = (
  effects: readonly Effect[],
  { seen, runAgain, isAborted }: KnownOfCalls,
  faults: Faults,
): CallCounts => {
  const calls = new Map<string, Effect[]>()
  for (const effect of effects) calls.set(effect.callId, [...(calls.get(effect.callId) ?? []), effect])
  const counts: CallCounts = { ran: calls.size, inDoubt: 0, inDoubtButDone: 0, rerun: 0 }

  const keys = new Map<string, string>()
  for (const [callId, ofCall] of calls) {
    const begun = ofCall.filter(({ what }) => what === 'begin')
    const wanted = runAgain.filter((id) => id === callId).length
    const mayBegin = toolOf(callId) === 'again' ? Number.POSITIVE_INFINITY : 1 + wanted
    if (begun.length > mayBegin) faults.doubled.push(`${callId} began ${begun.length} times`)
    else if (begun.length > 1) counts.rerun += 1
    const attempts = begun.map(({ attempt }) => attempt)
    // In their order, but for a process that is paused between the start of a tool and its first effect.
    if (new Set(attempts).size < attempts.length)
      faults.wrongKey.push(`${callId}: the attempts ${attempts.join(', ')}`)
    if (begun.some(({ run }) => !callId.startsWith(`${run}.`)))
      faults.wrongKey.push(`${callId}: the context of ${begun.map(({ run }) => run).join(', ')}`)
    const ofOther = begun.find(({ key }) => (keys.get(key) ?? callId) !== callId)
    const own = new Set(begun.map(({ key }) => key))
    for (const key of own) keys.set(key, callId)
    if (ofOther || own.size > 1) faults.wrongKey.push(`${callId}: the keys ${[...own].join(', ')}`)
  }

  for (const [callId, results] of seen) {
    const ofCall = calls.get(callId) ?? []
    if (results.size > 1) faults.undeclared.push(`${callId} has the results ${[...results].join(' | ')}`)
    for (const result of results) {
      const flaw = flawOf(callId, result, ofCall, isAborted(callId))
      if (flaw) faults.undeclared.push(`${callId}: ${flaw}`)
      if (!isUnknown(result) || isAborted(callId)) continue
      counts.inDoubt += 1
      if (ofCall.some(({ what }) => what === 'end')) counts.inDoubtButDone += 1
    }
  }
  return counts
}

/** The result of a call whose effect is unknown. */
const isUnknown = (result: string): boolean => result.includes('unknown')

const flawOf = (
  callId: string,
  result: string,
  ofCall: readonly Effect[],
  isAborted: boolean,
): string | undefined => {
  if (result.startsWith(`done ${callId} `)) {
    const wasGiven = ofCall.some(({ what, nonce }) => what === 'end' && result.endsWith(` ${nonce}`))
    return wasGiven ? undefined : `no execution gave ${result}`
  }
  // The answer of the agent behind `delegate`.
  if (result.startsWith(`[${callId}/`)) return undefined
  const tool = toolOf(callId)
  const isAsked = tool === 'settle'
  if (isAsked && (result.includes('marked it as failed') || result.startsWith('settled '))) return undefined
  if (isUnknown(result))
    return tool === 'note' || tool === 'check' || isAborted
      ? undefined
      : 'shown as unknown, though its tool says otherwise'
  // Rejected, or never come to: then it has not run.
  const isNotRun = result.includes('rejected') || result.includes('it was not run')
  if (!isNotRun) return `shown as ${result}`
  return ofCall.length > 0 ? `shown as not run: ${result}` : undefined
}
