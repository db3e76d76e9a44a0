import type { JsonValue } from '../messages/json.ts'
import type { ActorRow, Limits, Watched } from './wire.ts'

/** The calls of models of an actor and of the agents it is made of. */
export type WireView = {
  calls: WireCallRow[]
  /** Older calls of the run that are not kept. */
  forgotten: number
}

/** One call of a model. */
export type WireCallRow = {
  id: number
  step: number
  /** For a compaction; it is not an attempt at a step. */
  isSummary: boolean
  /** The place of its attempt in the list of attempts. */
  attempt: number | null
  provider: string
  model: string
  protocol: string
  /** The environment variable of the provider's key, if it has one. */
  keyVariable: string
  settings: JsonValue
  at: number
  endedAt: number | null
  failure: string
  /** Bodies and events had to give room to newer ones. */
  isDropped: boolean
  exchanges: ExchangeRow[]
}

/** One HTTP request of a call. `***` stands where a credential was. */
export type ExchangeRow = {
  method: string
  url: string
  sentHeaders: Record<string, string>
  at: number
  status: number | null
  headAt: number | null
  headers: Record<string, string>
  events: number
  /** Of all events, in characters. */
  size: number
}

/** What is too much to be told of every call: fetched for the one that is looked at. */
export type WireContent = {
  system: string
  tools: JsonValue
  /** Of a model without a wire; null for one that has it. */
  messages: JsonValue
  exchanges: ExchangeContent[]
}

export type ExchangeContent = {
  body: { head: string; tail: string; missing: number } | null
  head: RawRow[]
  /** Events between the first and the last ones that are not kept. */
  missing: number
  tail: RawRow[]
  /** A credential is spelled over several events: the texts that spell it are not shown. */
  isSpelled: boolean
}

export type RawRow = { event: string; data: string }

/** A run as one file. */
export type Recording = {
  statewire: 'recording'
  version: 1
  /** When it was made. */
  at: number
  limits: Limits
  actors: ActorRow[]
  /** What a page is told of each actor, by its id. */
  watched: Record<string, Watched>
  /** What it may ask for, by the address; texts as they are, everything else as JSON. */
  answers: Record<string, unknown>
}
