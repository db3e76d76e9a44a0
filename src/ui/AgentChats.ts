import type { AgentEmitted, CallCommand } from '../../machines/agent/events.ts'
import { abandonedPolicy } from '../../machines/policy/unseen.ts'
import { currentTools } from '../../machines/tools/runTools.ts'
import type { Agent } from '../agent/Agent.ts'
import { agentInternals } from '../agent/AgentInternals.ts'
import { commandFor } from '../agent/commands.ts'
import type { AnyAgent, AnyOptions, StartFrom } from '../agent/options.ts'
import type { AnyRun } from '../agent/Run.ts'
import { conversationOf } from '../durable/conversation.ts'
import { ConfigurationError, StatewireError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { PendingApproval, PendingCall } from '../messages/result.ts'
import type { StandardSchema } from '../tools/schema.ts'
import { type Tool, tool } from '../tools/tool.ts'
import { onAbort } from '../transport/onAbort.ts'
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
import type { WaitingRuns } from './WaitingRuns.ts'

/**
 * Chats with an agent in this process. The client keeps the conversation and sends it with every question. Only runs that
 * wait for a decision are kept here. A run ends when its reader leaves.
 */
export class AgentChats implements Chats {
  readonly #agent: Agent
  readonly #waiting: WaitingRuns
  /** The answers that are being given, by the id of their chat. A part of an answer may wait while the rest works. */
  readonly #live = new Map<string, LiveTurn>()

  constructor(agent: Agent, waiting: WaitingRuns) {
    this.#agent = agent
    this.#waiting = waiting
  }

  async ask(chatId: string, { prompt, history, id }: Question, context: TurnContext): Promise<Turn> {
    // A client that asks something else no longer wants to decide.
    this.#waiting.delete(chatId)
    const metadata = id === undefined ? {} : { metadata: { id } }
    const turn = this.#turn(chatId, prompt, { ...this.#options(context), history, ...metadata }, context)
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
    return this.#turn(chatId, { snapshot: pending.snapshot, decisions }, options, context, agent)
  }

  async current(): Promise<undefined> {}

  async stop(): Promise<void> {}

  async history(): Promise<undefined> {}

  #options({ context, tools = [] }: TurnContext, agent = this.#agent): AgentTurnOptions {
    return { context, clientTools: clientToolsFor(agent, tools) }
  }

  #turn(
    chatId: string,
    from: StartFrom,
    options: AgentTurnOptions,
    { client }: TurnContext,
    agent = this.#agent,
  ): Turn {
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
            this.#waiting.put(chatId, pendingApproval, { agent, client })
            // The client may ask something else instead of deciding: what the policy has seen, it has seen.
            const policy = abandonedPolicy(pendingApproval.snapshot)
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
  if (command.type === 'tool.approve') run.approve(callId, optionsIn(command))
  else if (command.type === 'tool.reject') run.reject(callId, command.reason, aboutIn(command))
  else run.answer(callId, command.result, { ...aboutIn(command), isError: command.isError === true })
}

const aboutIn = ({ question }: CallCommand) => (question === undefined ? {} : { question })

const optionsIn = ({ type: _, callId: __, ...options }: Extract<CallCommand, { type: 'tool.approve' }>) =>
  options

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
  let lost: { reason: unknown } | undefined
  // Not AbortSignal.any, which the edge runtime of Next does not have.
  const end = new AbortController()
  const leave = () => end.abort(signal.reason)
  const forget = onAbort(signal, leave)
  if (signal.aborted) leave()
  const isTyped = options.schema !== undefined
  const send = (event: TurnEvent) => {
    // A typed answer is shown once it is whole: its text may be that of a tool, or be corrected.
    if (isTyped && (event.type === 'text' || event.type === 'restart')) return
    try {
      if (!lost) onEvent(event)
    } catch (thrown) {
      lost = { reason: thrown }
      end.abort(thrown)
    }
  }
  const internals = agentInternals(agent)
  let leftPolicy = (): JsonObject | undefined => undefined
  const sent = internals.send(from, {
    ...options,
    ...(clientTools.length > 0 && { tools: [...internals.tools, ...clientTools] }),
    signal: end.signal,
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
    .finally(() => {
      forget()
      keepPolicy()
    })
    .catch((error: unknown) => {
      // A typed answer that waits is an error for its caller, and not for a client that may continue it.
      const partial = error instanceof StatewireError ? error.partial : undefined
      if (!lost && partial?.pendingApproval) return { ...partial, output: undefined }
      throw lost ? lost.reason : error
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
  const taken = new Set(currentTools(agentInternals(agent).tools).keys())
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
