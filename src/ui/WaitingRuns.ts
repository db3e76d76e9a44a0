import type { Agent } from '../agent/Agent.ts'
import type { JsonObject } from '../messages/json.ts'
import type { PendingApproval } from '../messages/result.ts'
import { HttpError } from './request.ts'

/** Conversations whose policies are kept. */
const mostPolicies = 10_000

/** A run as JSON, the agent that continues it, and the client that it belongs to. */
type Waiting = { stored: string; at: number; agent: Agent | undefined; client: string }

/**
 * Runs that wait for a decision, by the id of their chat, as JSON. Each is dropped when it is too old. `max` limits
 * their number, and `maxText` their characters, since a run holds the conversation of its client, which may be
 * megabytes. The client that uses most of a limit makes room: it drops its oldest run, or its largest. So a client
 * drops only its own runs.
 */
export class WaitingRuns {
  readonly #max: number
  readonly #maxAgeMs: number
  readonly #maxText: number
  /** Runs in the order of their age. */
  readonly #runs = new Map<string, Waiting>()
  #text = 0
  /** The policies of conversations, as JSON, the oldest first. */
  readonly #policies = new Map<string, string>()
  /** Conversations with a policy that are being answered. */
  readonly #answering = new Set<string>()

  constructor(max: number, maxAgeMs: number, maxText = 64 * 1024 * 1024) {
    this.#max = max
    this.#maxAgeMs = maxAgeMs
    this.#maxText = maxText
  }

  get(id: string): { pending: PendingApproval; agent: Agent | undefined } | undefined {
    this.#forgetOld()
    const found = this.#runs.get(id)
    return found && { pending: JSON.parse(found.stored), agent: found.agent }
  }

  /** Keeps a run of a client. Without names, all clients are one. */
  put(
    id: string,
    pending: PendingApproval,
    { agent, client = '' }: { agent?: Agent; client?: string | undefined } = {},
  ): void {
    this.delete(id)
    const stored = JSON.stringify(pending)
    this.#runs.set(id, { stored, at: Date.now(), agent, client })
    this.#text += stored.length
    this.#forgetOld()
  }

  /** The policy of a conversation that the page keeps: the page must not change what the policy has seen. */
  policyOf(id: string): JsonObject | undefined {
    const stored = this.#policies.get(id)
    return stored === undefined ? undefined : JSON.parse(stored)
  }

  /** Begins an answer of a conversation with a policy; the function returned ends it. */
  enter(id: string): () => void {
    if (this.#answering.has(id)) throw new HttpError(409, 'This chat is still answering: wait, or stop it.')
    this.#answering.add(id)
    return () => void this.#answering.delete(id)
  }

  keepPolicy(id: string, policy: JsonObject): void {
    this.#policies.delete(id)
    this.#policies.set(id, JSON.stringify(policy))
    const [oldest = ''] = this.#policies.keys()
    if (this.#policies.size > mostPolicies) this.#policies.delete(oldest)
  }

  delete(id: string): void {
    this.#text -= this.#runs.get(id)?.stored.length ?? 0
    this.#runs.delete(id)
  }

  #forgetOld(): void {
    for (const [id, { at }] of this.#runs) {
      if (Date.now() - at < this.#maxAgeMs) break
      this.delete(id)
    }
    while (this.#runs.size > this.#max) this.delete(this.#surplus(() => 1)[0] ?? '')
    while (this.#text > this.#maxText) {
      const runs = this.#surplus(({ stored }) => stored.length)
      const size = (id: string) => this.#runs.get(id)?.stored.length ?? 0
      this.delete(runs.reduce((largest, id) => (size(id) > size(largest) ? id : largest)))
    }
  }

  /** The runs of the client with the highest count, the oldest first. */
  #surplus(countOf: (run: Waiting) => number): string[] {
    const clients = new Map<string, { ids: string[]; count: number }>()
    for (const [id, run] of this.#runs) {
      const { ids = [], count = 0 } = clients.get(run.client) ?? {}
      ids.push(id)
      clients.set(run.client, { ids, count: count + countOf(run) })
    }
    return [...clients.values()].reduce((most, each) => (each.count > most.count ? each : most)).ids
  }
}
