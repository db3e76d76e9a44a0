import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
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
  delete(id: string): unknown
}

/** The most runs that wait in memory; the oldest make room. */
const mostWaiting = 1000
/** The longest arguments that are shown in a question, in characters. */
const longestShown = 2000

/** Keeps the newest runs in memory. */
export class WaitingInMemory implements WaitingStore {
  readonly #runs = new Map<string, string>()

  get(id: string): string | undefined {
    return this.#runs.get(id)
  }

  set(id: string, run: string): void {
    this.#runs.set(id, run)
    const [oldest] = this.#runs.keys()
    if (oldest !== undefined && this.#runs.size > mostWaiting) this.#runs.delete(oldest)
  }

  delete(id: string): void {
    this.#runs.delete(id)
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

  constructor(sdk: ServerSdk, store: WaitingStore) {
    this.#sdk = sdk
    this.#store = store
  }

  /** True if a client can be asked: older protocols have no way back to it. */
  canAsk({ envelope }: Asked, calls: readonly PendingCall[]): boolean {
    const capabilities = envelope?.[this.#sdk.CLIENT_CAPABILITIES_META_KEY]
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

  /** Reads the decisions of a request that is repeated; undefined if it is the first one, or a result if nothing waits. */
  async decided(tool: string, asked: Asked): Promise<Decided | CallToolResult | undefined> {
    const id = asked.requestState<unknown>()
    if (id === undefined) return undefined
    const stored = typeof id === 'string' && id.length <= 100 ? await this.#store.get(id) : undefined
    const waiting: ({ tool: string } & PendingApproval) | undefined = stored && JSON.parse(stored)
    if (!waiting || waiting.tool !== tool) return nothingWaits
    // Deleted first, so that the same answer cannot be used twice.
    await this.#store.delete(String(id))
    const { snapshot, calls } = waiting
    const decisions = calls.map((call, index) => [
      call.id,
      decisionOf(asked.inputResponses?.[keyOf(index)], call),
    ])
    return { snapshot, decisions: Object.fromEntries(decisions) }
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
  const shown = JSON.stringify(args)
  const cut = shown.length > longestShown ? `${shown.slice(0, longestShown)} …` : shown
  if (kind === 'limit') return `The agent has reached a limit: ${cut}. May it continue?`
  const again = inDoubt ? ' It was running when its process ended: it may have run already.' : ''
  return `May the agent call ${name} with ${cut}?${again}`
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
