import type { JsonValue } from '../messages/json.ts'

/** The calls of models of an actor and of the agents it is made of. */
export type WireView = {
  calls: WireCallRow[]
  /** Older calls of the run that are not kept. */
  forgotten: number
}

/** A call of a model. */
export type WireCallRow = {
  id: number
  step: number
  /** True for the summary of a compaction, which is not an attempt at a step. */
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
  /** True if its bodies and events were dropped to make room for newer ones. */
  isDropped: boolean
  exchanges: ExchangeRow[]
}

/** An HTTP request of a call. `***` replaces credentials. */
export type ExchangeRow = {
  method: string
  url: string
  sentHeaders: Record<string, string>
  at: number
  status: number | null
  headAt: number | null
  headers: Record<string, string>
  events: number
  /** The characters of all events. */
  size: number
}

/** The large parts of a call, which the page fetches for the one that it shows. */
export type WireContent = {
  system: string
  tools: JsonValue
  /** The messages for a model that is not reached over HTTP; null for any other. */
  messages: JsonValue
  exchanges: ExchangeContent[]
}

export type ExchangeContent = {
  body: { head: string; tail: string; missing: number } | null
  head: RawRow[]
  /** Events between the first and the last ones that are not kept. */
  missing: number
  tail: RawRow[]
  /** True if a credential was split over several events: the texts that would spell it are not shown. */
  isSpelled: boolean
}

export type RawRow = { event: string; data: string }
