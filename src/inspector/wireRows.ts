import { listProviders } from '../../providers/registry.ts'
import { textOf } from '../messages/messages.ts'
import { redact } from '../transport/redact.ts'
import type { Attempt, StoredAttempt } from './Attempt.ts'
import type { ExchangeContent, ExchangeRow, WireCallRow, WireContent, WireView } from './protocol.ts'
import { readable } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { hideSplitSecrets } from './secrets.ts'
import type { Exchange, WireCall } from './WireLog.ts'

/** The calls of models of a subject. Requests and answers of stored runs are not stored, so these have none. */
export const wireView = (subject: Subject, secrets: readonly string[]): WireView => {
  if (subject instanceof StoredRecord) return { calls: [], forgotten: 0 }
  const keys = new Map(listProviders().map(({ name, keyVariable = '' }) => [name, keyVariable]))
  const { calls, forgotten } = subject.wire
  const owners = ownersOf(subject)
  return {
    calls: calls
      .filter(({ context }) => owners.has(context.owner))
      .map((call) => callRow(call, subject, secrets, keys.get(call.context.model.provider) ?? '')),
    forgotten,
  }
}

/** The contents of one of these calls. */
export const wireContent = (
  subject: Subject,
  id: number,
  secrets: readonly string[],
): WireContent | undefined => {
  if (subject instanceof StoredRecord) return undefined
  const owners = ownersOf(subject)
  const call = subject.wire.calls.find((each) => each.id === id && owners.has(each.context.owner))
  return (
    call && {
      system: call.system.map(textOf).join('\n\n'),
      tools: readable(call.settings.tools ?? [], secrets, generous),
      messages: call.messages && readable(call.messages, secrets, generous),
      exchanges: call.exchanges.map((exchange) => contentOf(exchange, secrets)),
    }
  )
}

const generous = { depth: 30, entries: 1_000, values: 20_000, characters: 100_000 }

const ownersOf = ({ id, attempts }: Exclude<Subject, StoredRecord>): Set<number> =>
  new Set([id, ...attempts.map(({ owner }) => owner)])

const callRow = (
  { id, context, at, endedAt, failure, settings, exchanges, isDropped }: WireCall,
  { attempts, ...subject }: Exclude<Subject, StoredRecord>,
  secrets: readonly string[],
  keyVariable: string,
): WireCallRow => {
  const { owner, step, isSummary } = context
  const isOf = (attempt: Attempt | StoredAttempt) => attempt.owner === owner && attempt.facts.step === step
  const attempt = isSummary ? undefined : (context.attempt ?? attempts.find(isOf))
  const { provider, model, protocol = '' } = context.model
  const { tools: _, ...rest } = settings
  return {
    id,
    step,
    isSummary,
    attempt: attempt ? attempts.indexOf(attempt) : null,
    provider: String(provider),
    model: String(model),
    protocol,
    keyVariable,
    settings: readable(rest, secrets),
    at,
    // A call that was closed does not report it, but its attempt or its run is over then.
    endedAt: endedAt ?? attempt?.endedAt ?? subject.endedAt,
    failure,
    isDropped,
    exchanges: exchanges.map(exchangeRow),
  }
}

const exchangeRow = ({ sent, at, status, headAt, headers, count, size }: Exchange): ExchangeRow => ({
  method: sent.method,
  url: sent.url,
  sentHeaders: { ...sent.headers },
  at,
  status,
  headAt,
  headers: { ...headers },
  events: count,
  size,
})

const contentOf = ({ sent, body, events }: Exchange, secrets: readonly string[]): ExchangeContent => {
  const hide = (text: string) => redact(sent.hide(text), secrets)
  const { head, tail, missing } = events
  const { rows, isSpelled } = hideSplitSecrets(
    [...head, ...tail].map(({ event = '', data }) => ({ event, data: hide(data) })),
    hide,
  )
  return {
    body: body && { head: hide(body.head), tail: hide(body.tail), missing: body.missing },
    head: rows.slice(0, head.length),
    missing,
    tail: rows.slice(head.length),
    isSpelled,
  }
}
