import { type Actor, type AnyActorLogic, type AnyStateMachine, createActor } from 'xstate'
import type { AgentMachineConfig } from '../../machines/agentConfig.ts'
import type { AgentMachine } from '../../machines/agentSnapshot.ts'
import type { AgentInput } from '../../machines/events.ts'
import { defaultOrchestrator, type Orchestrator, orchestratorParts } from '../../machines/orchestrator.ts'
import { isRunMachine, runMachine } from '../../machines/runMachine.ts'
import { withValues } from '../../machines/runValues.ts'
import { typedOutputOrchestrator } from '../../machines/typedOutput.ts'
import type { ConnectionOptions, EmbeddingsModel, EmbedOptions } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingApproval, Usage } from '../messages/result.ts'
import type { ChatModel, GenerationSettings } from '../model/chatModel.ts'
import type { Clock } from '../model/clock.ts'
import { parseModelString } from '../model/modelString.ts'
import type { Approval, OnApproval } from '../tools/approval.ts'
import { compileSchema, type Infer, type Schema } from '../tools/schema.ts'
import type { Tool } from '../tools/tool.ts'
import { wireSchemaOf } from '../tools/typedAnswer.ts'
import { AgentRun, type RunHandlers, type RunOptions, type RunStart } from './AgentRun.ts'
import { type AgentToolOptions, agentTool } from './agentTool.ts'
import { ChunkStream } from './ChunkStream.ts'
import { checkPending } from './checkPending.ts'
import { harmlessInspect, type Inspect } from './harmlessInspect.ts'
import { type DeepPartial, partialValues, validatedOutput } from './partialValues.ts'

/** A model to fall back on: its string, with a connection of its own where it needs one, or a chat model. */
export type FallbackModel = string | (ConnectionOptions & { model: string }) | ChatModel

/** Everything an agent can be told; nothing is required. */
export type AgentOptions = GenerationSettings &
  ConnectionOptions &
  Omit<AgentMachineConfig, 'model' | 'settings' | 'fallback' | 'newId' | 'random' | 'onApproval'> & {
    /** Models to go on with, one after the other, when retries do not help. */
    fallback?: readonly FallbackModel[]
    /** Another way of answering than one run of the lifecycle chart. */
    orchestrator?: Orchestrator
    /** Decides on calls of tools with `needsApproval`. Without it a run that needs a decision returns, to be resumed. */
    onApproval?: OnApproval
    /** Where the time of its runs comes from; default real time. */
    clock?: Clock
    /** Sees every actor, event and transition of every run: XState's own `inspect`. */
    inspect?: Inspect
  }

/** What goes with one prompt. */
export type SendOptions = {
  /** The conversation so far: the `messages` of earlier results. */
  history?: ChatMessage[]
  /** Images, documents and other parts that go with the prompt. */
  attachments?: Part[]
  signal?: AbortSignal
  /** Gives the run a handle: to steer it, or to decide on approvals. */
  onStart?: (run: AgentRun) => void
}

/** Vectors of one text or of several, and what they cost. */
export type EmbeddingsResult<T> = { embeddings: T; model: string; usage?: Usage }

/**
 * A model with tools and settings. Every send is one run of its statechart, and runs do not share anything.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather] })
 * const { output } = await agent.send('Weather in Oslo?')
 */
export class Agent {
  /** The model that is asked first. */
  readonly model: ChatModel
  readonly #options: AgentOptions
  readonly #embeddings: (() => EmbeddingsModel) | undefined
  #machine: AgentMachine | undefined
  #typedMachine: AgentMachine | undefined

  /** Takes a model string such as `anthropic:claude-sonnet-5-5`, or a chat model of your own. */
  constructor(model: string | ChatModel, options: AgentOptions = {}) {
    this.#options = { ...options, ...(options.inspect && { inspect: harmlessInspect(options.inspect) }) }
    if (typeof model !== 'string') {
      this.model = model
      return
    }
    const name = parseModelString(model)
    const provider = findProvider(name.provider)
    this.model = provider.chatModel(name.chat, options)
    const { embeddingsModel } = provider
    if (embeddingsModel) this.#embeddings = () => embeddingsModel(name.embeddings, options)
  }

  /**
   * The statechart that every send runs, for `createActor`, `invoke` and `provide`. Built once, on first use. With an
   * `orchestrator` it is the orchestrator's, which has the same input, events and output, but states of its own.
   */
  get machine(): AgentMachine {
    this.#machine ??= this.#build(this.#options.orchestrator ?? defaultOrchestrator)
    return this.#machine
  }

  /** A new run as an actor: subscribe to it, listen to its events, then start it. */
  actor(input: AgentInput): Actor<AgentMachine> {
    const { inspect, clock } = this.#options
    return createActor(this.machine, { input, ...(inspect && { inspect }), ...(clock && { clock }) })
  }

  /** Runs the prompt to its end and gives the whole result. Throws a typed error with the partial result. */
  async send(prompt: string | Part[], options: SendOptions = {}): Promise<ChatResult> {
    return this.#settle(this.machine, { input: inputOf(prompt, options) }, options)
  }

  /** The same, chunk by chunk. Leaving the loop early ends the run and closes its connection. */
  sendStream(prompt: string | Part[], options: SendOptions = {}): AsyncIterableIterator<ChatResult> {
    return new ChunkStream((stream) => {
      const run = this.run(inputOf(prompt, options), options, {
        chunk: (chunk) => stream.push(chunk),
        complete: (result) => {
          if (result.pendingApproval) stream.push({ ...result, output: '', messages: [] })
          stream.finish()
        },
        fail: (error) => stream.fail(error),
      })
      begin(run, options)
      return () => run.stop()
    })
  }

  /** Asks for a value of the schema's type; `output` is validated. */
  async sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: SendOptions = {},
  ): Promise<ChatResult<Infer<S>>> {
    const { machine, compiled, outputSchema } = this.#typed(schema)
    const result = await this.#settle(
      machine,
      { input: { ...inputOf(prompt, options), outputSchema } },
      options,
    )
    return { ...result, output: await validatedOutput(result, compiled) }
  }

  /** The same while it grows: each `output` is what is known of the value so far, the last one is validated. */
  sendStreamFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: SendOptions = {},
  ): AsyncIterableIterator<ChatResult<DeepPartial<Infer<S>>>> {
    return new ChunkStream((stream) => {
      const { machine, compiled, outputSchema } = this.#typed(schema)
      const start = { input: { ...inputOf(prompt, options), outputSchema } }
      const run = new AgentRun(machine, start, this.#runOptions(options), partialValues(stream, compiled))
      begin(run, options)
      return () => run.stop()
    })
  }

  /**
   * Goes on with a run that waits for approvals, here or in another process. Decisions are by call id; calls without
   * one stay pending, and the result says so again.
   */
  async resume(
    pending: PendingApproval,
    decisions: Record<string, Approval>,
    options: Pick<SendOptions, 'signal' | 'onStart'> = {},
  ): Promise<ChatResult> {
    checkPending(pending, decisions)
    const { calls, snapshot } = pending
    return new Promise((resolve, reject) => {
      const start: RunStart = { snapshot }
      const run = new AgentRun(this.machine, start, this.#runOptions(options), {
        complete: resolve,
        fail: reject,
      })
      begin(run, options)
      run.decide(calls, decisions)
    })
  }

  /** This agent as a tool of another one: its run is a child of the call, aborts with it and adds to its usage. */
  asTool(options: AgentToolOptions): Tool {
    return agentTool(this, options)
  }

  /** A run whose outcome goes to handlers, for those who build on an agent: `Chat` and sub-agents do. */
  run(input: AgentInput, options: Pick<RunOptions, 'signal' | 'parent'>, handlers: RunHandlers): AgentRun {
    return new AgentRun(this.machine, { input }, { ...this.#runOptions(options), ...options }, handlers)
  }

  /** The vector of a text that searches; see {@link embedDocuments} for the texts that are searched. */
  async embedQuery(text: string, options: EmbedOptions = {}): Promise<EmbeddingsResult<number[]>> {
    const { embeddings, ...rest } = await this.#embed([text], 'query', options)
    return { embeddings: embeddings[0] ?? [], ...rest }
  }

  /** The vectors of texts, in their order; in several requests where the provider's limits ask for it. */
  embedDocuments(
    texts: readonly string[],
    options: EmbedOptions = {},
  ): Promise<EmbeddingsResult<number[][]>> {
    return this.#embed(texts, 'document', options)
  }

  async #embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    options: EmbedOptions,
  ): Promise<EmbeddingsResult<number[][]>> {
    const model = this.#embeddings?.()
    if (!model) throw new ConfigurationError(`${this.model.provider} makes no embeddings.`)
    const { vectors, usage } = await model.embed(texts, purpose, options)
    return { embeddings: vectors, model: model.model, ...(usage && { usage }) }
  }

  /**
   * What answers for a schema, which it is told with the input: the agent's own orchestrator, or else the one for typed
   * output, which is also given what validates.
   */
  #typed<S extends Schema>(schema: S) {
    const compiled = compileSchema(schema, 'The output schema')
    if (this.#options.orchestrator) {
      return { compiled, machine: this.machine, outputSchema: compiled.jsonSchema }
    }
    this.#typedMachine ??= this.#build(typedOutputOrchestrator)
    const answerSchema = wireSchemaOf(compiled)
    const machine = withValues(this.#typedMachine, { answerSchema })
    return { compiled, machine, outputSchema: answerSchema.jsonSchema }
  }

  #build({ create }: Orchestrator): AgentMachine {
    // An orchestrator has no business with the connection: what it keeps or shows must not hold a key.
    const { fallback = [], apiKey: _, headers: __, baseUrl: ___, ...options } = this.#options
    // The contract of an orchestrator is that of the lifecycle machine, whatever logic it is.
    const logic: AnyActorLogic = create(
      orchestratorParts({
        ...options,
        model: this.model,
        fallback: fallback.map((each) => fallbackModel(each, options)),
        settings: settingsOf(options),
      }),
    )
    return isChart(logic) ? runMachine(logic) : (logic as AgentMachine)
  }

  #settle(machine: AgentMachine, start: RunStart, options: SendOptions): Promise<ChatResult> {
    return new Promise((resolve, reject) => {
      const handlers = { complete: resolve, fail: reject }
      begin(new AgentRun(machine, start, this.#runOptions(options), handlers), options)
    })
  }

  #runOptions({ signal }: { signal?: AbortSignal | undefined }): RunOptions {
    const { inspect, onApproval, clock, orchestrator } = this.#options
    return {
      signal,
      inspect,
      clock,
      name: orchestrator?.providerHint,
      isSuspending: onApproval === undefined,
    }
  }
}

/** A chart of the user's, as XState made it; of any copy of XState. */
const isChart = (logic: AnyActorLogic): logic is AnyStateMachine =>
  !isRunMachine(logic) && 'root' in logic && 'provide' in logic

const begin = (run: AgentRun, { onStart }: SendOptions): void => {
  onStart?.(run)
  run.start()
}

const inputOf = (prompt: string | Part[], { history, attachments }: SendOptions): AgentInput => ({
  prompt,
  ...(history && { history }),
  ...(attachments && { attachments }),
})

/** A fallback uses the agent's way to the network, but never its key: that belongs to another provider. */
const fallbackModel = (fallback: FallbackModel, { dispatcher, fetch }: ConnectionOptions): ChatModel => {
  if (typeof fallback === 'object' && 'stream' in fallback) return fallback
  const { model, ...own } = typeof fallback === 'string' ? { model: fallback } : fallback
  const { provider, chat } = parseModelString(model)
  const network = { ...(dispatcher && { dispatcher }), ...(fetch && { fetch }) }
  return findProvider(provider).chatModel(chat, { ...network, ...own })
}

const settingNames = [
  'temperature',
  'maxOutputTokens',
  'topP',
  'stopSequences',
  'seed',
  'toolChoice',
  'parallelToolCalls',
  'thinking',
  'providerOptions',
] as const satisfies (keyof GenerationSettings)[]

const settingsOf = (options: AgentOptions): GenerationSettings =>
  Object.fromEntries(
    settingNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
