import type { AnyEventObject } from 'xstate'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'

// The questions to a policy: those of its run, one after the other, and those of the sub-agents that inherit it, which may
// come while another one waits for a check. Each asker has one question at a time.

/**
 * An item of a question. `ask`: the policy must take the event. `show`: it may ignore the event, and the item is
 * withheld only in a state that refuses. `look`: only the state counts. `report`: nothing is decided.
 */
export type PolicyItem = {
  key: string
  mode: 'ask' | 'show' | 'look' | 'report'
  event?: AnyEventObject
  /** The verdict on a call that no state of the machine mentions, if it is more than that of the state. */
  others?: 'refuse' | 'ask' | 'allow'
  /** The event for a policy that has refused the item, so that it can leave the state. */
  refused?: AnyEventObject
}

/** A question of a run: asked again after a restore, it is continued and not repeated. */
export type PolicyQuestion = {
  type: 'policy.ask'
  id: string
  /** The sub-agent that asks: undefined for the run itself. */
  asker?: string
  items: readonly PolicyItem[]
}

/** The verdict on one item. `possible`: the calls that the state takes, if it did not take this one. */
export type Verdict = {
  verdict: 'pass' | 'ask' | 'refuse'
  state: string
  reason?: string
  possible?: string[]
}

/** The verdicts on the items of a question, by their keys. */
export type Verdicts = { [key: string]: Verdict }

/** The verdicts that policies have given. */
const given = new WeakSet<object>()

/** Notes that a policy has given this verdict: one that other code sends to a run, such as a check, does not count. */
export const asGiven = <Answer extends object>(answer: Answer): Answer => {
  given.add(answer)
  return answer
}

export const isGiven = (answer: object): boolean => given.has(answer)

/** The progress of a question. The items are the run's own data, and not stored twice. */
export type OpenQuestion = {
  asker?: string
  id: string
  at: number
  /** The machine has taken the event of the current item. */
  isTaken: boolean
  /** The item whose event was taken: after a restore, the run may have other tools, and so other items. */
  key?: string
  verdicts: Verdicts
  items?: readonly PolicyItem[]
}

/**
 * The part of a policy's snapshot that is not its machine's. `isOver`: the machine is in a final state. `others`: the
 * questions of sub-agents beside the open one, those that wait and those that are answered.
 */
export type Judging = { isOver: boolean; open: OpenQuestion | null; others?: readonly OpenQuestion[] }

export const nothingAsked: Judging = { isOver: false, open: null }

/** The questions after one more was asked, or was asked again after a restore. */
export const asked = (judging: Judging, { id, asker, items }: PolicyQuestion): Judging => {
  const { open, others = [] } = judging
  const isSame = (each: OpenQuestion) => each.id === id && each.asker === asker
  if (open && isSame(open)) return { ...judging, open: continued(open, items) }
  const known = others.find(isSame)
  const question = known ? continued(known, items) : begun(id, asker, items)
  // A run that asks has no sub-agent at work: what they have asked is over.
  const rest = asker === undefined ? [] : others.filter((each) => each.asker !== asker)
  if (open && isFirst(open, asker)) return { ...judging, others: [...rest, question] }
  return withOpen(judging, question, asker === undefined ? [] : [...rest, ...keptOf(open, asker)])
}

/** Says whether a question is to be answered before that of another asker: its event may have been taken before a restore. */
const isFirst = ({ asker, items, isTaken }: OpenQuestion, other: string | undefined): boolean =>
  asker !== other && (items !== undefined || (isTaken && other !== undefined))

/** An answer is kept as long as its sub-agent may ask for it again. */
const keptOf = (open: OpenQuestion | null, asker: string | undefined): OpenQuestion[] =>
  open && open.asker !== undefined && open.asker !== asker ? [open] : []

const withOpen = ({ isOver }: Judging, open: OpenQuestion, others: readonly OpenQuestion[]): Judging => ({
  isOver,
  open,
  ...(others.length > 0 && { others }),
})

/** The questions after the open one was answered: the next one that waits is open now. */
export const answered = (judging: Judging): Judging => {
  const { open, others = [] } = judging
  if (!open) return judging
  const last = withoutItems(open)
  const waiting = others.find(({ items }) => items !== undefined)
  if (!waiting) return { ...judging, open: last }
  const rest = others.filter((each) => each !== waiting)
  return withOpen(judging, waiting, [...rest, ...keptOf(last, waiting.asker)])
}

/** The questions whose answers are waited for. */
export const unanswered = ({ open, others = [] }: Judging): readonly OpenQuestion[] =>
  [...(open ? [open] : []), ...others].filter(({ items }) => items !== undefined)

const begun = (id: string, asker: string | undefined, items: readonly PolicyItem[]): OpenQuestion => ({
  ...(asker !== undefined && { asker }),
  id,
  at: 0,
  isTaken: false,
  verdicts: {},
  items,
})

/** An item that is not the one whose event was taken has not been asked about yet. */
const continued = (open: OpenQuestion, items: readonly PolicyItem[]): OpenQuestion => ({
  ...open,
  items,
  isTaken: open.isTaken && items[open.at]?.key === open.key,
})

export const next = (open: OpenQuestion): OpenQuestion => ({ ...open, at: open.at + 1, isTaken: false })

const withoutItems = ({ items: _, ...progress }: OpenQuestion): OpenQuestion => progress

export const storedJudging = ({ isOver, open, others = [] }: Judging): Judging =>
  open ? withOpen({ isOver, open }, withoutItems(open), others.map(withoutItems)) : { isOver, open }

/** The part of a stored policy that is not its machine's; undefined if it cannot be read. */
export const judgingIn = (stored: object): Judging | undefined => {
  const { judging }: { judging?: unknown } = stored
  if (!isJsonObject(judging) || typeof judging.isOver !== 'boolean') return undefined
  const { isOver, open, others = [], unseen = [] } = judging
  if (!areItems(unseen)) return undefined
  if (open === null) return { isOver, open }
  const beside: readonly unknown[] = Array.isArray(others) ? others : [others]
  return isQuestion(open) && beside.every(isQuestion) ? withOpen({ isOver, open }, open, beside) : undefined
}

const isQuestion = (stored: unknown): stored is OpenQuestion =>
  isJsonObject(stored) &&
  (stored.asker === undefined || typeof stored.asker === 'string') &&
  typeof stored.id === 'string' &&
  Number.isInteger(stored.at) &&
  typeof stored.isTaken === 'boolean' &&
  isJsonObject(stored.verdicts)

/** The ends of calls that the last run of a conversation has not reported to its policy: see `unseen.ts`. */
export const carriedItems = ({ judging }: JsonObject): readonly PolicyItem[] => {
  const { unseen }: { unseen?: unknown } = Object(judging)
  return areItems(unseen) ? unseen : []
}

/** Says whether these are such items: they were stored, perhaps by other hands. */
const areItems = (stored: unknown): stored is PolicyItem[] =>
  Array.isArray(stored) &&
  stored.every(
    (each) =>
      isJsonObject(each) &&
      typeof each.key === 'string' &&
      (each.mode === 'show' || each.mode === 'report') &&
      [each.event, each.refused].every((event) => event === undefined || isEvent(event)),
  )

const isEvent = (value: unknown): boolean => isJsonObject(value) && typeof value.type === 'string'
