import { isJsonObject, type JsonObject } from '../src/messages/json.ts'
import { messageFlaw } from '../src/messages/messageFlaw.ts'
import type { ChatMessage } from '../src/messages/messages.ts'
import type { PendingCall } from '../src/messages/result.ts'
import type { StreamingState } from './streamingState.ts'
import { externalCalls, pendingCalls } from './toolRound.ts'

type Standing = {
  status?: unknown
  value?: unknown
  context?: unknown
  children?: Readonly<Record<string, { getSnapshot(): unknown } | undefined>>
}

type Wait = {
  calls: PendingCall[]
  /** Somebody is being asked already: `onApproval`. */
  isAttended: boolean
}

/** The calls that a run waits for, by the snapshot of its actor: its own, or those of the runs it is made of. */
export const pendingIn = (snapshot: unknown): PendingCall[] => waitsIn(snapshot).flatMap(({ calls }) => calls)

/** Those of them that nobody has been asked about. */
export const unattendedIn = (snapshot: unknown): PendingCall[] =>
  waitsIn(snapshot).flatMap(({ calls, isAttended }) => (isAttended ? [] : calls))

const waitsIn = (snapshot: unknown): Wait[] => {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { status, value, context, children = {} }: Standing = snapshot
  if (status !== 'active') return []
  if (isRun(context)) {
    if (value === 'AwaitingApproval')
      return [{ calls: kind('approval', pendingCalls(context)), isAttended: isActive(children.approver) }]
    if (value === 'AwaitingTools')
      return [{ calls: kind('answer', externalCalls(context)), isAttended: false }]
  }
  return Object.values(children).flatMap((child) => waitsIn(child?.getSnapshot()))
}

const isActive = (child: { getSnapshot(): unknown } | undefined): boolean => {
  const snapshot = child?.getSnapshot()
  return isJsonObject(snapshot) && snapshot.status === 'active'
}

/** What a run has added to the conversation, and the runs it is made of that have not ended yet. */
export const messagesIn = (snapshot: unknown): ChatMessage[] => {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { context, children = {} }: Standing = snapshot
  const own = isJsonObject(context) && Array.isArray(context.messages) ? context.messages : []
  const known = own.filter((each): each is ChatMessage & JsonObject => messageFlaw(each) === undefined)
  return [...known, ...Object.values(children).flatMap((child) => messagesIn(child?.getSnapshot()))]
}

/** A chart of the user's may have any data, and states of any name. */
const isRun = (context: unknown): context is StreamingState =>
  isJsonObject(context) && isJsonObject(context.round) && Array.isArray(context.history)

const kind = (of: PendingCall['kind'], calls: ReturnType<typeof pendingCalls>): PendingCall[] =>
  calls.map((call) => ({ ...call, kind: of }))
