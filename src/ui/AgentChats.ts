import type { AgentEmitted } from '../../machines/agent/events.ts'
import type { Agent, AnyAgent, StartFrom } from '../agent/Agent.ts'
import { agentInternals } from '../agent/AgentInternals.ts'
import { commandFor } from '../agent/commands.ts'
import type { AnyOptions } from '../agent/options.ts'
import type { AnyRun } from '../agent/Run.ts'
import { conversationOf, policyAfter } from '../durable/conversation.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { PendingApproval, PendingCall } from '../messages/result.ts'
import type { StandardSchema } from '../tools/schema.ts'
import { type Tool, tool, toolsByName } from '../tools/tool.ts'
import type { ClientTool } from './clientMessages.ts'
import { HttpError } from './request.ts'
import {
  type Chats,
  type Decisions,
  eventsOf,
  nothingDecided,
  type Question,
  type Turn,
  type TurnContext,
  type TurnEvent,
  type TurnListener,
  type TurnOutcome,
  withUsage,
} from './turn.ts'

/**
 * Chats with an agent in this process. The client keeps the conversation and sends it with every question. Only runs that
 * wait for a decision are kept here. A run ends when its reader leaves.
 */
export class AgentChats implements Chats {
  readonly #agent: Agent
  readonly #waiting: WaitingRuns
  /** The answers that are being given, by the id of their chat. A part of one may wait while the rest works. */
  readonly #live = new Map<string, LiveTurn>()

  constructor(agent: Agent, waiting: WaitingRuns) {
    this.#agent = agent
    this.#waiting = waiting
  }

  async ask(chatId: string, { prompt, history, id }: Question, context: TurnContext): Promise<Turn> {
    // A client that asks something else no longer wants to decide.
    this.#waiting.delete(chatId)
    const metadata = id === undefined ? {} : { metadata: { id } }
    const turn = this.#turn(chatId, prompt, { ...this.#options(context), history, ...metadata })
    return { ...turn, ...(id !== undefined && { promptId: id }) }
  }

  async resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    context: TurnContext,
  ): Promise<Turn> {
    const { pending, agent = this.#agent } = this.#waiting.get(chatId) ?? {}
    const live = this.#live.get(chatId)
    if (!pending && live) return joinedTurn(live, decide(live.run.pending))
    const decisions = pending ? decide(pending.calls) : {}
    if (!pending || Object.keys(decisions).length === 0) throw nothingDecided()
    const options = this.#options(context, agent)
    // Deleted first, so that the same decision cannot be used twice.
    this.#waiting.delete(chatId)
    return this.#turn(chatId, { snapshot: pending.snapshot, decisions }, options, agent)
  }

  async current(): Promise<undefined> {}

  async stop(): Promise<void> {}

  async history(): Promise<undefined> {}

  #options({ context, tools = [] }: TurnContext, agent = this.#agent): AgentTurnOptions {
    return { context, clientTools: clientToolsFor(agent, tools) }
  }

  #turn(chatId: string, from: StartFrom, options: AgentTurnOptions, agent = this.#agent): Turn {
    return {
      follow: async (listener) => {
        let live: LiveTurn | undefined
        const onRun = (run: AnyRun) => {
          live = { run, end: () => turn }
          this.#live.set(chatId, live)
        }
        const onPolicy = (policy: JsonObject) => this.#waiting.keepPolicy(chatId, policy)
        // Of two answers at once, each would forget what the policy has seen in the other.
        const leave = agentInternals(agent).hasPolicy ? this.#waiting.enter(chatId) : () => {}
        const policy = isStored(from) ? undefined : this.#waiting.policyOf(chatId)
        const asked = { ...options, conversation: chatId, onPolicy, ...(policy && { policy }) }
        const turn = agentTurn(agent, from, asked, { ...listener, onRun })
        try {
          const { pendingApproval, outcome } = await turn
          if (pendingApproval) {
            this.#waiting.put(chatId, pendingApproval, agent)
            // The client may ask something else instead of deciding: what the policy has seen, it has seen.
            const { policy } = policyAfter({ snapshot: pendingApproval.snapshot })
            if (policy) onPolicy(policy)
          }
          return outcome
        } finally {
          leave()
          if (this.#live.get(chatId) === live) this.#live.delete(chatId)
        }
      },
    }
  }
}

/** The conversation, the context of the tools, and the tools of the client. */
export type AgentTurnOptions = Pick<
  AnyOptions,
  'history' | 'context' | 'metadata' | 'schema' | 'conversation' | 'policy'
> & {
  /** Called with the policy that the run leaves, however it ends. */
  onPolicy?: (policy: JsonObject) => void
  clientTools?: readonly Tool[]
}

/** An answer that is being given, and its end. */
type LiveTurn = { run: AnyRun; end: () => Promise<AgentTurn> }

/** Decides on calls of an answer that is being given, and shows the rest of it. It ends when its first reader leaves. */
const joinedTurn = ({ run, end }: LiveTurn, decisions: Decisions): Turn => {
  if (Object.keys(decisions).length === 0) throw nothingDecided()
  for (const [callId, decision] of Object.entries(decisions)) decideOn(run, callId, decision)
  return {
    follow: async ({ onEvent, signal }) => {
      const reading = follow(run, (event) => {
        if (!signal.aborted) onEvent(event)
      })
      try {
        const { outcome } = await end()
        if (!signal.aborted) onEvent(lastEvent(outcome))
        // Its outcome is reported to the first reader.
        return undefined
      } finally {
        reading.unsubscribe()
      }
    },
  }
}

const decideOn = (run: AnyRun, callId: string, decision: Decisions[string]): void => {
  const command = commandFor(callId, decision)
  if (command.type === 'tool.approve') run.approve(callId, command)
  else if (command.type === 'tool.reject') run.reject(callId, command.reason, command)
  else run.answer(callId, command.result, command)
}

const lastEvent = ({ pending, finishReason, usage }: TurnOutcome): TurnEvent =>
  pending.length > 0
    ? { type: 'waits', calls: pending }
    : { type: 'end', finishReason, ...(usage && { usage }) }

/** The outcome of a turn, and the run if it waits. */
type AgentTurn = { outcome: TurnOutcome; pendingApproval: PendingApproval | undefined }

/** Runs a turn of an agent. The run ends when the listener leaves. */
export const agentTurn = async (
  agent: Agent,
  from: StartFrom,
  { clientTools = [], onPolicy, ...options }: AgentTurnOptions,
  { onEvent, signal, onRun }: Pick<TurnListener, 'onEvent' | 'signal'> & { onRun?: (run: AnyRun) => void },
): Promise<AgentTurn> => {
  // A listener throws at an event that its protocol cannot show: then the run ends.
  const lost = new AbortController()
  const isTyped = options.schema !== undefined
  const send = (event: TurnEvent) => {
    // A typed answer is shown once it is whole: its text may be that of a tool, or be corrected.
    if (isTyped && (event.type === 'text' || event.type === 'restart')) return
    try {
      if (!lost.signal.aborted) onEvent(event)
    } catch (thrown) {
      lost.abort(thrown)
    }
  }
  const internals = agentInternals(agent)
  let leftPolicy = (): JsonObject | undefined => undefined
  const sent = internals.send(from, {
    ...options,
    ...(clientTools.length > 0 && { tools: [...internals.tools, ...clientTools] }),
    signal: AbortSignal.any([signal, lost.signal]),
    onRun: (run, ofRun) => {
      leftPolicy = () => ofRun.policy
      follow(run, send)
      onRun?.(run)
    },
  })
  const keepPolicy = () => {
    const policy = leftPolicy()
    if (policy) onPolicy?.(policy)
  }
  const { pendingApproval, output, messages, finishReason, usage } = await sent
    .finally(keepPolicy)
    .catch((error: unknown) => {
      throw lost.signal.aborted ? lost.signal.reason : error
    })
  if (isTyped && !pendingApproval) onEvent({ type: 'text', text: JSON.stringify(output) })
  const before = isStored(from) ? conversationOf(from).before : (options.history ?? [])
  const outcome = {
    messages: withUsage([...before, ...messages], usage),
    finishReason,
    ...(usage && { usage }),
    pending: pendingApproval?.calls ?? [],
  }
  onEvent(lastEvent(outcome))
  return { outcome, pendingApproval }
}

/** Distinguishes a run that continues from a question. */
const isStored = (from: StartFrom): from is Extract<StartFrom, { snapshot: unknown }> =>
  typeof from === 'object' && 'snapshot' in from

/** Passes on the events of a run, and each state that it enters. */
const follow = (run: AnyRun, onEvent: (event: TurnEvent) => void): { unsubscribe(): void } => {
  let state = ''
  onEvent({ type: 'begin', runId: run.id })
  return run.on('*', (event) => {
    if (run.state !== state) {
      state = run.state
      onEvent({ type: 'state', state })
    }
    for (const each of eventsIn(event)) onEvent(each)
  })
}

function* eventsIn(event: AgentEmitted): Generator<TurnEvent> {
  if (event.type === 'chunk') yield* eventsOf(event)
  else if (event.type === 'tool.delta') yield { ...event, type: 'callDelta' }
  else if (event.type === 'tool.result') yield { type: 'result', result: event.result }
  else if (event.type === 'tool.progress')
    yield { type: 'progress', callId: event.callId, value: event.value }
}

/** Accepts all arguments. The client checks those of its own tools: a pattern in its schema must not be run here. */
const anything: StandardSchema = {
  '~standard': { version: 1, vendor: 'statewire', validate: (value) => ({ value }) },
}

/** The longest descriptions of all tools of a client, in characters. */
const longestClientTools = 256_000

/** Makes the tools of a client, which answers their calls itself. Their names must differ from those of the agent's tools. */
export const clientToolsFor = (agent: AnyAgent, described: readonly ClientTool[]): Tool[] => {
  const taken = new Set(toolsByName(agentInternals(agent).tools).keys())
  const length = JSON.stringify(described).length
  if (length > longestClientTools)
    throw new HttpError(400, `The tools have more than ${longestClientTools} characters: send fewer.`)
  return described.map(({ name, description, parameters }) => {
    if (taken.has(name)) throw new HttpError(400, `There is already a tool "${name}": choose another name.`)
    taken.add(name)
    try {
      return tool({ name, description, input: { jsonSchema: parameters, schema: anything } })
    } catch (error) {
      throw error instanceof ConfigurationError ? new HttpError(400, error.message) : error
    }
  })
}

/** Conversations whose policies are kept. */
const mostPolicies = 10_000

/** A run as JSON, and the agent that continues it. */
type Waiting = { stored: string; at: number; agent: Agent | undefined }

/**
 * Runs that wait for a decision, by the id of their chat, as JSON. The oldest make room for new ones, and each is dropped
 * when it is too old. A run holds the conversation of its client, which may be megabytes: `maxText` limits the characters of
 * all, and the largest are dropped first, so that a client with large conversations drops its own and not those of others.
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

  put(id: string, pending: PendingApproval, agent?: Agent): void {
    this.delete(id)
    const stored = JSON.stringify(pending)
    this.#runs.set(id, { stored, at: Date.now(), agent })
    this.#text += stored.length
    this.#forgetOld()
  }

  /** The policy of a conversation that the page keeps: it is not for the page to say what the policy has seen. */
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
      if (this.#runs.size <= this.#max && Date.now() - at < this.#maxAgeMs) break
      this.delete(id)
    }
    while (this.#text > this.#maxText) this.delete(this.#largest())
  }

  #largest(): string {
    let largest = ''
    let length = -1
    for (const [id, { stored }] of this.#runs) {
      if (stored.length <= length) continue
      largest = id
      length = stored.length
    }
    return largest
  }
}
