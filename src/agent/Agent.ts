import { type Actor, type AnyActorLogic, createActor, type Snapshot } from 'xstate'
import {
  type AgentMachineConfig,
  type CompactionOptions,
  synchronous,
} from '../../machines/agent/agentConfig.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import type { AgentInput } from '../../machines/agent/events.ts'
import { type RunHost, withHost, withValues } from '../../machines/logic/runEnvironment.ts'
import { runMachineOf } from '../../machines/logic/runMachine.ts'
import { isChart, registerRunMachine } from '../../machines/logic/wrapLogic.ts'
import type { PrepareStep } from '../../machines/model/prepareStep.ts'
import {
  defaultOrchestrator,
  type Orchestrator,
  orchestratorParts,
} from '../../machines/orchestrators/orchestrator.ts'
import { typedOutputOrchestrator } from '../../machines/orchestrators/typedOutput.ts'
import type { ConnectionOptions, EmbeddingsModel, EmbedOptions } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import { ConfigurationError, describeThrown, isOwnError, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Part } from '../messages/messages.ts'
import type { ChatResult, PendingApproval, SendResult, Usage } from '../messages/result.ts'
import type { ChatModel, GenerationSettings } from '../model/chatModel.ts'
import type { Clock } from '../model/clock.ts'
import { parseModelString } from '../model/modelString.ts'
import { newId } from '../model/newId.ts'
import type { CallDecision, OnApproval } from '../tools/approval.ts'
import { compileSchema, type Infer, type Schema } from '../tools/schema.ts'
import type { AnyToolEntry, Tool, ToolSource } from '../tools/tool.ts'
import { type WireSchema, wireSchemaOf } from '../tools/typedAnswer.ts'
import { type AgentToolOptions, agentTool } from './agentTool.ts'
import { ChunkStream } from './ChunkStream.ts'
import { checkAgent, checkSend } from './checkOptions.ts'
import { environmentInspector } from './environmentInspector.ts'
import { type FallbackModel, fallbackModel, withModelStrings, withSummariser } from './otherModels.ts'
import type { DeepPartial } from './partialValues.ts'
import { beginRun, gripOn, Run, readRun } from './Run.ts'
import { plainRun, typedRun } from './runForms.ts'
import type { RunSetup, RunStart } from './runSetup.ts'
import {
  type ActorOptions,
  type AnyOptions,
  inputOf,
  type Last,
  type ResumeOptions,
  type SendOptions,
  settingsOf,
  type TypedOptions,
} from './sendOptions.ts'
import { snapshotOf, storedRun } from './storedRun.ts'
import { harmlessInspect, type Inspect } from './watching.ts'

/** Every option of an agent. None is required. */
export type AgentOptions<Deps = unknown, Machine extends AnyActorLogic = AnyActorLogic> = GenerationSettings &
  ConnectionOptions &
  Omit<
    AgentMachineConfig,
    | 'model'
    | 'settings'
    | 'fallback'
    | 'newId'
    | 'random'
    | 'onApproval'
    | 'tools'
    | 'prepareStep'
    | 'compaction'
  > & {
    /** What the model may call, and sources of tools that change. Default: none. */
    tools?: readonly (Tool<Deps> | ToolSource)[]
    /** Called before each model call: it may choose another model, fewer tools or other settings for this step. Default: none. */
    prepareStep?: PrepareStep<Deps, string | ChatModel>
    /** Models to continue with, one after the other, when retries do not help. Default: none. */
    fallback?: readonly FallbackModel[]
    /** How a conversation that is too long is shortened for the model. Default: after the provider refused a request as too long. */
    compaction?: false | CompactionOptions<string | ChatModel>
    /** Another way of answering than one run of the lifecycle chart. Default: `defaultOrchestrator`. */
    orchestrator?: Orchestrator<Machine>
    /** Decides on calls of tools with `needsApproval`. Default: a run that needs a decision returns, to be resumed. */
    onApproval?: OnApproval
    /** The clock of its runs. Default: real time. */
    clock?: Clock
    /** Sees every actor, event and transition of every run: XState's own `inspect`, or a list of them. Default: none. */
    inspect?: Inspect | readonly Inspect[]
  }

/** What a run starts from: a prompt, or a stored run with decisions on its pending calls, by id. */
export type StartFrom =
  | string
  | Part[]
  | { snapshot: Snapshot<unknown>; decisions?: Readonly<Record<string, CallDecision>> }

/** The vectors of one text or of several, and the usage. */
export type EmbeddingsResult<T> = { embeddings: T; model: string; usage?: Usage }

/** The output of a run: with a schema its value, without one text. */
export type Value<S extends Schema> = [S] extends [never] ? string : Infer<S>
/** The output of its chunks. */
export type Growing<S extends Schema> = [S] extends [never] ? string : DeepPartial<Infer<S>>

/** The machine of an agent: its orchestrator's, as far as the types know it, or else the lifecycle chart's. */
export type MachineOf<Machine extends AnyActorLogic> = AnyActorLogic extends Machine ? AgentMachine : Machine

let sending: <T, Deps, Machine extends AnyActorLogic>(
  agent: Agent<Deps, Machine>,
  from: StartFrom,
  options: AnyOptions,
) => Promise<SendResult<T>>
let streaming: <C, Deps, Machine extends AnyActorLogic>(
  agent: Agent<Deps, Machine>,
  from: () => StartFrom,
  options: AnyOptions,
) => AsyncIterableIterator<ChatResult<C>>

let tooling: (agent: AnyAgent) => readonly AnyToolEntry[]
let hosting: (agent: AnyAgent, from: HostedFrom, host: RunHost, context: unknown) => Actor<AgentMachine>

let acting: (agent: AnyAgent, from: HostedFrom, values: AnyOptions) => Actor<AgentMachine>

/** An agent with any tools. */
export type AnyAgent = Pick<Agent, 'name' | 'model'>

/** What a run with a host starts or continues from. */
export type HostedFrom = { input: AgentInput } | { snapshot: Snapshot<unknown> }

/** The actor of a run for its host, not yet started. */
export const hostedRun: typeof hosting = (agent, from, host, context) => hosting(agent, from, host, context)

/** The actor of a run that a person began in the inspector, not yet started. */
export const actorOf: typeof acting = (agent, from, values) => acting(agent, from, values)

const agents = new WeakMap<object, AnyAgent>()

/** The agent that a machine belongs to. Its root stays the same in everything that is wrapped around the machine for one run. */
export const agentOf = (machine: { root: object } | null): AnyAgent | undefined =>
  machine ? agents.get(machine.root) : undefined

/** The tools of an agent, for callers that add some for one run. */
export const toolsOf: typeof tooling = (agent) => tooling(agent)

/** The result of a run, for `Chat`: what T is follows from the options. */
export const sendWith: typeof sending = (agent, from, options) => sending(agent, from, options)

/** Its chunks, likewise. */
export const streamWith: typeof streaming = (agent, from, options) => streaming(agent, from, options)

/**
 * A model with tools and settings. Every send is one run of its statechart, and runs share nothing.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather] })
 * const { output } = await agent.send('Weather in Oslo?')
 */
export class Agent<Deps = unknown, Machine extends AnyActorLogic = AnyActorLogic> {
  /** The model that is asked first. */
  readonly model: ChatModel
  readonly #options: AgentOptions<Deps, Machine>
  readonly #inspect: Inspect | undefined
  readonly #compaction: AgentMachineConfig['compaction']
  readonly #embeddings: (() => EmbeddingsModel) | undefined
  #machine: AgentMachine | undefined
  /** For typed answers, without tools and with them. */
  readonly #typedMachines = new Map<boolean, AgentMachine>()

  static {
    sending = (agent, from, options) => agent.#result(from, options)
    streaming = (agent, from, options) => agent.#stream(from, options)
    tooling = (agent) => (#options in agent ? (agent.#options.tools ?? []) : [])
    const own = (agent: AnyAgent): Agent => {
      if (typeof agent === 'object' && agent !== null && #options in agent) return agent as Agent
      throw new ConfigurationError(
        'This is not an agent of this copy of statewire: make it with new Agent(model, options).',
      )
    }
    hosting = (agent, from, host, context) => own(agent).#hosted(from, host, context)
    acting = (agent, from, values) => own(agent).#actorOf(own(agent).#machineFor(values), from)
  }

  /** Takes a model string such as `anthropic:claude-sonnet-5-5`, or your own chat model. */
  constructor(model: string | ChatModel, options: AgentOptions<Deps, Machine> = {}) {
    checkAgent(model, options)
    this.#options = { ...options }
    const inspectors = [options.inspect ?? [], environmentInspector()?.inspect ?? []].flat()
    if (inspectors.length > 0) this.#inspect = harmlessInspect(inspectors)
    if (typeof model !== 'string') this.model = model
    else {
      const name = parseModelString(model)
      const provider = findProvider(name.provider)
      this.model = provider.chatModel(name.chat, options)
      const { embeddingsModel } = provider
      if (embeddingsModel) this.#embeddings = () => embeddingsModel(name.embeddings, options)
    }
    this.#compaction = withSummariser(options.compaction, this.model, options)
  }

  /** The name it was given, which errors, the `step` event and the inspector show. */
  get name(): string | undefined {
    return this.#options.name
  }

  /**
   * The statechart that every send runs, for `createActor`, `invoke` and `provide`. Built once, on first use. With an
   * `orchestrator` it is the orchestrator's, which has the same input, events and output, but its own states.
   */
  get machine(): MachineOf<Machine> {
    if (!this.#machine) {
      this.#machine = this.#build(this.#options.orchestrator ?? defaultOrchestrator)
      if (isJsonObject(this.#machine.root)) agents.set(this.#machine.root, this)
    }
    // Without an orchestrator, the types describe the lifecycle machine.
    const machine: AnyActorLogic = this.#machine
    return machine as MachineOf<Machine>
  }

  /** A new run as an actor: subscribe to it, listen to its events, then start it. */
  actor(input: AgentInput, ...rest: Last<ActorOptions<Deps>>): Actor<MachineOf<Machine>> {
    const { clock, orchestrator } = this.#options
    const { inspect: also, ...values }: AnyOptions & { inspect?: Inspect } = lastOf(rest)
    const inspect = also ? harmlessInspect([this.#inspect ?? [], also].flat()) : this.#inspect
    const compiled = values.schema && compileSchema(values.schema, 'The output schema')
    const wire = compiled && wireSchemaOf(compiled)
    const outputSchema = orchestrator ? compiled?.jsonSchema : wire?.jsonSchema
    const options = {
      input: { ...input, ...(outputSchema && { outputSchema }) },
      ...(inspect && { inspect }),
      ...(clock && { clock }),
    }
    const actor: Actor<AnyActorLogic> = createActor(this.#machineFor(values, wire), options)
    return actor as Actor<MachineOf<Machine>>
  }

  /**
   * Starts a run from a prompt, or from a stored run with decisions on what it waits for, and returns its handle. The
   * run starts once the calling code has yielded, so that a listener attached at once gets every event.
   */
  start<S extends Schema = never>(
    from: StartFrom,
    ...rest: Last<SendOptions<Deps> & TypedOptions<S>>
  ): Run<Value<S>, Growing<S>> {
    const options = lastOf(rest)
    const run = this.#run<Value<S>, Growing<S>>(from, options, true)
    options.onStart?.(run)
    queueMicrotask(() => beginRun(run))
    return run
  }

  /** Runs the prompt to its end and returns the whole result. Throws a typed error with the partial result. */
  async send(prompt: string | Part[], ...rest: Last<SendOptions<Deps>>): Promise<SendResult> {
    return await this.#result(prompt, lastOf(rest))
  }

  /** The same, chunk by chunk. Leaving the loop early ends the run and closes its connection. */
  sendStream(prompt: string | Part[], ...rest: Last<SendOptions<Deps>>): AsyncIterableIterator<ChatResult> {
    return this.#stream(() => prompt, lastOf(rest))
  }

  /** Asks for a value of the schema's type; `output` is validated. */
  async sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<SendOptions<Deps>>
  ): Promise<SendResult<Infer<S>>> {
    return await this.#result(prompt, { ...lastOf(rest), schema })
  }

  /** The same as a stream: each `output` is the value so far, the last one is validated. */
  sendStreamFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<SendOptions<Deps>>
  ): AsyncIterableIterator<ChatResult<DeepPartial<Infer<S>>>> {
    return this.#stream(() => prompt, { ...lastOf(rest), schema })
  }

  /**
   * Resumes a run that waits, here or in another process. Decisions are by call id; calls without one stay pending, and
   * the result lists them again. A typed answer needs its `schema` again.
   */
  async resume<S extends Schema = never>(
    pending: PendingApproval,
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): Promise<SendResult<Value<S>>> {
    return await this.#result({ snapshot: snapshotOf(pending), decisions }, lastOf(rest))
  }

  /** The same, chunk by chunk. */
  resumeStream<S extends Schema = never>(
    pending: PendingApproval,
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): AsyncIterableIterator<ChatResult<Growing<S>>> {
    return this.#stream(() => ({ snapshot: snapshotOf(pending), decisions }), lastOf(rest))
  }

  /** This agent as a tool of another one: its run is a child of the call, is aborted with it and adds to its usage. */
  asTool(options: AgentToolOptions): Tool<Deps> {
    const { orchestrator, name = orchestrator?.providerHint } = this.#options
    return agentTool<Deps>(() => ({ machine: this.#machineFor({}), name }), options)
  }

  /** The vector of a search text; see {@link Agent.embedDocuments} for the texts that are searched. */
  async embedQuery(text: string, options: EmbedOptions = {}): Promise<EmbeddingsResult<number[]>> {
    const { embeddings, ...rest } = await this.#embed([text], 'query', options)
    return { embeddings: embeddings[0] ?? [], ...rest }
  }

  /** The vectors of texts, in their order; in several requests if the provider's limits require it. */
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
    if (!model) throw new ConfigurationError(`${this.model.provider} does not make embeddings.`)
    const { vectors, usage } = await model.embed(texts, purpose, options)
    return { embeddings: vectors, model: model.model, ...(usage && { usage }) }
  }

  #result<T>(from: StartFrom, options: AnyOptions): Promise<SendResult<T>> {
    const run = this.#run<T, unknown>(from, options, options.onStart !== undefined)
    options.onRun?.(run, gripOn(run))
    options.onStart?.(run)
    beginRun(run)
    return run.result
  }

  /** The run starts with the first pull. */
  #stream<C>(from: () => StartFrom, options: AnyOptions): AsyncIterableIterator<ChatResult<C>> {
    return new ChunkStream((stream) => {
      const run = this.#run<unknown, C>(from(), options, options.onStart !== undefined)
      const leave = readRun(run, stream)
      options.onRun?.(run, gripOn(run))
      options.onStart?.(run)
      beginRun(run)
      return leave
    })
  }

  #run<T, C>(from: StartFrom, options: AnyOptions, isHeld: boolean): Run<T, C> {
    checkSend(options)
    const { clock, orchestrator, name = orchestrator?.providerHint } = this.#options
    const inspect = this.#inspect
    const { schema, signal, parent } = options
    const stored = isStored(from) ? storedRun(from.snapshot) : undefined
    if (stored?.isTyped && !schema)
      throw new ConfigurationError('The run was asked for a typed answer: resume it with its { schema }.')
    const compiled = schema && compileSchema(schema, 'The output schema')
    const wire = compiled && (orchestrator ? compiled : wireSchemaOf(compiled))
    const id = stored?.id ?? options.id ?? newId()
    const start: RunStart = isStored(from)
      ? { snapshot: from.snapshot, decisions: from.decisions === undefined ? {} : from.decisions }
      : { input: inputOf(from, options, id, wire?.jsonSchema) }
    const shown: object = compiled ? typedRun(compiled) : plainRun
    const machine = this.#machineFor(options, compiled && wireSchemaOf(compiled))
    const setup = { id, machine, start, signal, inspect, clock, name, parent, isHeld, ...shown }
    // Text, or values of the schema: the caller has worked out T and C from it.
    return new Run(setup as RunSetup<T, C>)
  }

  #hosted(from: HostedFrom, host: RunHost, context: unknown): Actor<AgentMachine> {
    return this.#actorOf(withHost(this.#machineFor({ context }), host), from)
  }

  #actorOf(machine: AgentMachine, from: HostedFrom): Actor<AgentMachine> {
    const { clock, orchestrator, name = orchestrator?.providerHint } = this.#options
    const inspect = this.#inspect
    return createActor(machine, {
      input: 'input' in from ? from.input : {},
      ...('snapshot' in from && { snapshot: from.snapshot }),
      ...(inspect && { inspect }),
      ...(clock && { clock }),
      ...(name !== undefined && { id: name }),
    })
  }

  /** The machine for one run: what answers, and the values it is given. */
  #machineFor(options: AnyOptions, answerSchema?: WireSchema): AgentMachine {
    const { context, tools, prepareStep, parent } = options
    const isTyped = answerSchema !== undefined && !this.#options.orchestrator
    // Every machine of an agent keeps the contract of the lifecycle machine.
    const machine = isTyped ? this.#typedMachine(tools) : (this.machine as AnyActorLogic as AgentMachine)
    const isPlain = !answerSchema && context === undefined && !tools && !prepareStep && !parent
    if (isPlain) return machine
    return withValues(machine, {
      context,
      ...(answerSchema && { answerSchema }),
      ...(tools && { tools }),
      ...(prepareStep && { prepareStep: this.#withModels(prepareStep) }),
    })
  }

  /** What answers for a schema, which comes with the input. How depends on whether there are tools. */
  #typedMachine(tools: readonly AnyToolEntry[] = this.#options.tools ?? []): AgentMachine {
    const hasTools = tools.length > 0
    const machine = this.#typedMachines.get(hasTools) ?? this.#build(typedOutputOrchestrator, tools)
    this.#typedMachines.set(hasTools, machine)
    return machine
  }

  #build(
    { create, providerHint }: Orchestrator,
    tools: readonly AnyToolEntry[] = this.#options.tools ?? [],
  ): AgentMachine {
    // An orchestrator does not get the connection: what it stores or shows must not hold a key.
    const { fallback = [], apiKey: _, headers: __, baseUrl: ___, connection: ____, ...rest } = this.#options
    const { prepareStep, compaction: _____, ...options } = rest
    const parts = orchestratorParts({
      ...options,
      tools,
      ...(prepareStep && { prepareStep: this.#withModels(prepareStep) }),
      ...(this.#compaction !== undefined && { compaction: this.#compaction }),
      model: this.model,
      fallback: fallback.map((each) => fallbackModel(each, this.#options)),
      settings: settingsOf(options) ?? {},
    })
    // An orchestrator has the contract of the lifecycle machine, even if it is other actor logic.
    const logic: AnyActorLogic | undefined = created(() => create(parts), providerHint)
    if (typeof logic?.transition !== 'function')
      throw new OrchestrationError(`The orchestrator "${providerHint}" did not return actor logic.`, {
        orchestrator: providerHint,
      })
    return isChart(logic) ? runMachineOf(logic) : registerRunMachine(logic as AgentMachine)
  }

  #withModels(prepare: PrepareStep<never, string | ChatModel>): PrepareStep {
    return withModelStrings(prepare, this.model, this.#options)
  }
}

const created = <Logic>(create: () => Logic, orchestrator: string): Logic => {
  try {
    return synchronous('create', create)()
  } catch (cause) {
    if (isOwnError(cause)) throw cause
    const problem = `The orchestrator "${orchestrator}" could not be made: ${describeThrown(cause)}`
    throw new OrchestrationError(problem, { cause, orchestrator })
  }
}

const isStored = (from: StartFrom): from is Exclude<StartFrom, string | Part[]> => isJsonObject(from)

/** The options of a call: which of them are required is a matter of types. */
const lastOf = (rest: readonly unknown[]): AnyOptions => (rest[0] ?? {}) as AnyOptions
