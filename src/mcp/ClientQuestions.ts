import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject, visibleJson } from '../messages/json.ts'
import type { PendingApproval, PendingCall } from '../messages/result.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { ServerSdk } from './sdk.ts'

/**
 * The place where {@link mcpHandler} keeps runs that wait for a decision, as JSON. A `Map` works; a database makes
 * questions outlive the process.
 */
export type WaitingStore = {
  get(id: string): string | undefined | Promise<string | undefined>
  set(id: string, run: string): unknown
  /**
   * Returns `false` if it had nothing to delete, as a `Map` does: another process may have used the same answer first.
   */
  delete(id: string): unknown
}

/** The most runs that wait in memory, and their characters: a run holds its conversation. The oldest make room. */
const mostWaiting = 1000
const mostText = 64 * 1024 * 1024

/** Keeps the newest runs in memory. */
export class WaitingInMemory implements WaitingStore {
  readonly #runs = new Map<string, string>()
  #text = 0

  get(id: string): string | undefined {
    return this.#runs.get(id)
  }

  set(id: string, run: string): void {
    this.delete(id)
    this.#runs.set(id, run)
    this.#text += run.length
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= mostWaiting && this.#text <= mostText) return
      this.delete(oldest)
    }
  }

  delete(id: string): boolean {
    this.#text -= this.#runs.get(id)?.length ?? 0
    return this.#runs.delete(id)
  }
}

type Asked = ServerContext['mcpReq']

/** A run that continues with the decisions of a client. */
export type Decided = { snapshot: PendingApproval['snapshot']; decisions: Record<string, CallDecision> }

/**
 * The questions of served agents to their clients. A question is a result that asks for input; the client repeats its
 * request with the answers. Only a random id travels with it: the run stays here, and each question is answered once.
 */
export class ClientQuestions {
  readonly #sdk: ServerSdk
  readonly #store: WaitingStore
  /** The questions whose answers are being read. A store may take its time, and the same answer may come twice meanwhile. */
  readonly #answering = new Set<string>()

  constructor(sdk: ServerSdk, store: WaitingStore) {
    this.#sdk = sdk
    this.#store = store
  }

  /** True if a client can be asked: older protocols have no way back to it. */
  canAsk({ envelope }: Asked, calls: readonly PendingCall[]): boolean {
    const capabilities: unknown = Reflect.get(Object(envelope), this.#sdk.CLIENT_CAPABILITIES_META_KEY)
    return isJsonObject(Object(capabilities).elicitation) && calls.every(({ kind }) => kind !== 'answer')
  }

  /** Asks about the calls of a run that waits, for a tool of this name. */
  async ask(tool: string, { snapshot, calls }: PendingApproval): Promise<InputRequiredResult> {
    const { inputRequired } = this.#sdk
    const id = crypto.randomUUID()
    await this.#store.set(id, JSON.stringify({ tool, snapshot, calls }))
    const asked = calls.map((call, index) => [
      keyOf(index),
      inputRequired.elicit({ message: questionFor(call), requestedSchema: decisionSchema }),
    ])
    return inputRequired({ inputRequests: Object.fromEntries(asked), requestState: id })
  }

  /** Reads the decisions of a repeated request; undefined for a first request. Refused if no run waits for them. */
  async decided(tool: string, asked: Asked): Promise<Decided | { refusal: CallToolResult } | undefined> {
    const id = asked.requestState<unknown>()
    if (id === undefined) return undefined
    if (typeof id !== 'string' || id.length > 100 || this.#answering.has(id)) return { refusal: nothingWaits }
    this.#answering.add(id)
    try {
      const waiting = await this.#taken(id, tool)
      if (!waiting) return { refusal: nothingWaits }
      const { snapshot, calls } = waiting
      const decisions = calls.map((call, index) => [
        call.id,
        decisionOf(asked.inputResponses?.[keyOf(index)], call),
      ])
      return { snapshot, decisions: Object.fromEntries(decisions) }
    } finally {
      this.#answering.delete(id)
    }
  }

  /**
   * Removes a run that waits for an answer to this tool from the store, before it continues: an answer is used once.
   */
  async #taken(id: string, tool: string): Promise<PendingApproval | undefined> {
    const stored = await this.#store.get(id)
    const waiting: ({ tool: string } & PendingApproval) | undefined = stored && JSON.parse(stored)
    if (!waiting || waiting.tool !== tool) return undefined
    return (await this.#store.delete(id)) === false ? undefined : waiting
  }
}

const nothingWaits: CallToolResult = {
  content: [{ type: 'text', text: 'Nothing waits for this answer: it was already given, or it is too old.' }],
  isError: true,
}

const keyOf = (index: number): string => `decision-${index + 1}`

const decisionSchema = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Approve', description: 'Run it as shown.' },
    reason: { type: 'string', title: 'Reason', description: 'The reason for a no, which the agent sees.' },
  },
  required: ['approve'],
} as const satisfies JsonObject

const questionFor = ({ kind, name, arguments: args, inDoubt }: PendingCall): string => {
  // Shown whole: what is cut off might be what matters.
  const shown = visibleJson(args)
  if (kind === 'limit') return `The agent has reached a limit: ${shown}. May it continue?`
  const again = inDoubt ? ' It was running when its process ended: it may have run already.' : ''
  return `May the agent call ${name} with ${shown}?${again}`
}

/** The decision in the response of a client. Anything but a clear yes is a no. */
const decisionOf = (response: unknown, { question }: PendingCall): CallDecision => {
  const { action, content } = Object(response)
  const { approve, reason } = Object(action === 'accept' ? content : undefined)
  const given = typeof reason === 'string' && reason !== '' ? reason : undefined
  return {
    approve: approve === true,
    ...(approve !== true && {
      reason: given ?? (action === 'accept' ? 'rejected' : String(action ?? 'not answered')),
    }),
    ...(question !== undefined && { question }),
  }
}
