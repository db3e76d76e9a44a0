import type { Actor } from 'xstate'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { askEvent } from '../../machines/agent/announcements.ts'
import type { AgentEmitted } from '../../machines/agent/events.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { adviceOn } from '../messages/optionNames.ts'
import type { PendingCall } from '../messages/result.ts'
import { harmlessListener } from './watching.ts'

type EventName = AgentEmitted['type'] | '*'

const eventNames: Record<EventName, true> = {
  '*': true,
  chunk: true,
  message: true,
  step: true,
  'tool.delta': true,
  'tool.approval': true,
  'tool.external': true,
  'tool.call': true,
  'tool.progress': true,
  'tool.result': true,
  retry: true,
  fallback: true,
  compaction: true,
  limit: true,
  policy: true,
  prefix: true,
  warning: true,
}

/** Refuses the name of an event that no run emits: its listener would wait for ever. */
export const checkEventName = (type: string): void => {
  if (!Object.hasOwn(eventNames, type))
    throw new ConfigurationError(
      `A run emits no event "${String(type).slice(0, 40)}". ${adviceOn(type, Object.keys(eventNames))}`,
    )
}

/** A listener, and the calls that were announced to it. */
type Listening = { type: EventName; onEvent: (event: AgentEmitted) => void; announced: Set<string> }

/** The kinds of pending calls, by the event that asks for a decision on one. */
const kindAskedBy: Readonly<Record<string, PendingCall['kind']>> = {
  'tool.approval': 'approval',
  'tool.external': 'answer',
  limit: 'limit',
}

/** Checks whether an event asks for a decision. */
export const asksForDecision = ({ type }: AgentEmitted): boolean => type in kindAskedBy

const keyOf = (event: AgentEmitted): string =>
  'callId' in event ? `${event.type} ${event.callId} ${('question' in event && event.question) || ''}` : ''

/** The listeners of a run. One that listens for an event that asks is expected to decide. */
export class RunListeners {
  readonly #actor: Actor<AgentMachine>
  readonly #listeners = new Set<Listening>()

  constructor(actor: Actor<AgentMachine>) {
    this.#actor = actor
  }

  /** Adds a listener; the function returned removes it. */
  add(type: EventName, listener: (event: AgentEmitted) => void): () => void {
    const call = harmlessListener(listener)
    const announced = new Set<string>()
    const onEvent = (event: AgentEmitted) => {
      if (asksForDecision(event)) announced.add(keyOf(event))
      call(event)
    }
    const entry = { type, onEvent, announced }
    this.#listeners.add(entry)
    const subscription = this.#actor.on(type, onEvent)
    return () => {
      this.#listeners.delete(entry)
      subscription.unsubscribe()
    }
  }

  /** Announces a pending call to those that have not seen it: they came later, or the run was stored meanwhile. */
  announce(call: PendingCall): void {
    const event = askEvent(call)
    for (const { type, onEvent, announced } of this.#listeners)
      if ((type === event.type || type === '*') && !announced.has(keyOf(event))) onEvent(event)
  }

  /** Checks whether one of them decides on calls of this kind. */
  decideOn({ kind }: PendingCall): boolean {
    return [...this.#listeners].some(({ type }) => kindAskedBy[type] === kind)
  }
}
