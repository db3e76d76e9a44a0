import type { Actor, AnyActorLogic, AnyStateMachine, Snapshot } from 'xstate'
import type { AgentInput } from '../../machines/agent/events.ts'
import { tracedEmbeddings } from '../../machines/logic/runEnvironment.ts'
import type { EmbedOptions, MediaOptions } from '../../providers/provider.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { DataPart, LinkPart, Part } from '../messages/messages.ts'
import type { ChatResult, PendingApproval, SendResult, Usage } from '../messages/result.ts'
import type { ChatModel } from '../model/chatModel.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { Infer, Schema } from '../tools/schema.ts'
import type { Tool } from '../tools/tool.ts'
import { AgentInternals } from './AgentInternals.ts'
import { type AgentToolOptions, agentTool } from './agentTool.ts'
import { checkEmbed, checkMedia } from './checkOptions.ts'
import type {
  ActorOptions,
  ActorValues,
  AgentOptions,
  AnyOptions,
  Last,
  MachineOf,
  Output,
  PartialOutput,
  ResumeOptions,
  SendOptions,
  StartFrom,
  TypedOptions,
} from './options.ts'
import type { DeepPartial } from './partialValues.ts'
import type { Run } from './Run.ts'
import type { TypedMachine } from './typedMachine.ts'
import { type Inspect, watchedWait } from './watching.ts'

export type { AgentOptions, AnyAgent, HostedFrom, MachineOf, StartFrom } from './options.ts'

/** The vectors of one text or of several, and the usage. */
export type EmbeddingsResult<T> = { embeddings: T; model: string; usage?: Usage }

/** The images that a model made, and the usage. */
export type MediaResult = { media: (DataPart | LinkPart)[]; model: string; usage?: Usage }

/**
 * A model with tools and settings. Every send is one run of its statechart, and runs share nothing.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather] })
 * const { output } = await agent.send('Weather in Oslo?')
 */
export class Agent<Deps = unknown, Machine extends AnyActorLogic = AnyActorLogic> {
  readonly #internals: AgentInternals

  /** Takes a model string such as `anthropic:claude-sonnet-5-5`, or your own chat model. */
  constructor(model: string | ChatModel, options: AgentOptions<Deps, Machine> = {}) {
    this.#internals = new AgentInternals(this, model, options)
  }

  /** The model that is asked first. */
  get model(): ChatModel {
    return this.#internals.model
  }

  /** The name of the agent, which errors, the `step` event and the inspector show. */
  get name(): string | undefined {
    return this.#internals.options.name
  }

  /**
   * The statechart that every send runs, for `createActor`, `invoke` and `provide`. Built once, on first use. With an
   * `orchestrator` it is the machine of that orchestrator, with the same input, events and output, but its own states.
   */
  get machine(): MachineOf<Machine, Deps> {
    // Without an orchestrator, the types describe the lifecycle machine.
    const machine: AnyActorLogic = this.#internals.machine
    return machine as MachineOf<Machine, Deps>
  }

  /**
   * The machine of runs that answer with a value of this schema: the `output` of a complete run is the validated value.
   * With `values`, it is the machine for one run, such as a restored run that had a `context`.
   *
   * @example
   * const city = agent.machineFor(z.object({ name: z.string() }))
   * const actor = createActor(city, { input: { prompt: 'The capital of Norway?' } })
   */
  machineFor<S extends Schema>(schema: S, values?: ActorValues<Deps>): TypedMachine<Infer<S>, Deps>
  machineFor(schema: undefined, values?: ActorValues<Deps>): MachineOf<Machine, Deps>
  machineFor(schema: Schema | undefined, values?: ActorValues<Deps>): AnyActorLogic {
    return this.#internals.typedMachine(schema, lastOf([values]))
  }

  /**
   * The chart of this agent as a plain XState machine: for graphs, drawings, Stately Studio and JSON. Run `machine`
   * instead.
   */
  get chart(): AnyStateMachine {
    return this.#internals.chart
  }

  /** A new run as an actor: subscribe to it, listen to its events, then start it. */
  actor(input: AgentInput, ...rest: Last<ActorOptions<Deps>>): Actor<MachineOf<Machine, Deps>> {
    const { inspect, ...values }: AnyOptions & { inspect?: Inspect } = lastOf(rest)
    const actor: Actor<AnyActorLogic> = this.#internals.actor({ input }, values, { inspect })
    return actor as Actor<MachineOf<Machine, Deps>>
  }

  /**
   * Starts a run from a prompt, or from a stored run with decisions on its pending calls, and returns its handle. The
   * run starts once the calling code has yielded, so that a listener attached at once gets every event.
   */
  start<S extends Schema = never>(
    from: StartFrom,
    ...rest: Last<SendOptions<Deps> & TypedOptions<S>>
  ): Run<Output<S>, PartialOutput<S>> {
    return this.#internals.start(from, lastOf(rest))
  }

  /** Runs the prompt to its end and returns the whole result. Throws a typed error with the partial result. */
  async send(prompt: string | Part[], ...rest: Last<SendOptions<Deps>>): Promise<SendResult> {
    return watchedWait(await this.#internals.send(prompt, lastOf(rest)))
  }

  /** Sends a prompt and yields the answer chunk by chunk. Leaving the loop early ends the run and closes its connection. */
  sendStream(prompt: string | Part[], ...rest: Last<SendOptions<Deps>>): AsyncIterableIterator<ChatResult> {
    return this.#internals.stream(() => prompt, lastOf(rest))
  }

  /** Asks for a value of the schema's type; `output` is validated. */
  async sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<SendOptions<Deps>>
  ): Promise<SendResult<Infer<S>>> {
    return await this.#internals.send(prompt, { ...lastOf(rest), schema: needed(schema) })
  }

  /** Asks for a value chunk by chunk: each `output` is the value so far, the last one is validated. */
  sendStreamFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<SendOptions<Deps>>
  ): AsyncIterableIterator<ChatResult<DeepPartial<Infer<S>>>> {
    return this.#internals.stream(() => prompt, { ...lastOf(rest), schema: needed(schema) })
  }

  /**
   * Resumes a run that waits, here or in another process. Decisions are by call id; calls without one stay pending, and
   * the result lists them again. A typed answer needs its `schema` again.
   */
  async resume<S extends Schema = never>(
    pending: PendingApproval,
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): Promise<SendResult<Output<S>>> {
    return await this.#internals.send({ snapshot: snapshotOf(pending), decisions }, lastOf(rest))
  }

  /** Resumes a run that waits, chunk by chunk. */
  resumeStream<S extends Schema = never>(
    pending: PendingApproval,
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): AsyncIterableIterator<ChatResult<PartialOutput<S>>> {
    return this.#internals.stream(() => ({ snapshot: snapshotOf(pending), decisions }), lastOf(rest))
  }

  /**
   * The agent as a tool of another one: its run is a child of the call, is aborted with it and adds to its usage. With
   * `background` a call starts a task, which works while the run that started it continues.
   */
  asTool(options: AgentToolOptions): Tool<Deps> {
    const internals = this.#internals
    const { name } = internals
    const inherits = internals.options.policy === 'inherit' ? () => internals.tools : undefined
    return agentTool<Deps>((call) => ({ machine: internals.machineUnder(call), name }), options, inherits)
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

  /**
   * Makes images from words, or from the images in `attachments`, with the provider's model for images: `?media=` in
   * the model string names another.
   */
  async generateMedia(prompt: string, options: MediaOptions = {}): Promise<MediaResult> {
    checkMedia(options)
    const model = this.#internals.media?.()
    if (!model) throw this.#without('does not make media')
    const { media, usage } = await model.generate(prompt, options)
    return { media, model: model.model, ...(usage && { usage }) }
  }

  /**
   * Makes images and yields each as soon as it arrives, after the drafts of OpenAI and Google, which have `isPartial`.
   *
   * @example for await (const image of agent.generateMediaStream('A hat')) if (!image.isPartial) show(image)
   */
  async *generateMediaStream(
    prompt: string,
    options: MediaOptions = {},
  ): AsyncGenerator<(DataPart | LinkPart) & { isPartial?: true }, void> {
    checkMedia(options)
    const model = this.#internals.media?.()
    if (model?.stream) yield* model.stream(prompt, options)
    else yield* (await this.generateMedia(prompt, options)).media
  }

  /** The error for an ability that needs a model string: a model object is for chat alone. */
  #without(lacks: string): ConfigurationError {
    const { provider } = this.model
    const advice = this.#internals.isNamed
      ? ''
      : `: a model that was given is for chat alone. Where ${provider} can do more, name it by a string: new Agent('${provider}').`
    return new ConfigurationError(`${provider} ${lacks}${advice || '.'}`)
  }

  async #embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    options: EmbedOptions,
  ): Promise<EmbeddingsResult<number[][]>> {
    checkEmbed(texts, purpose, options)
    const model = this.#internals.embeddings?.()
    if (!model) throw this.#without('does not make embeddings')
    const asked = { provider: this.model.provider, model: model.model, texts: texts.length }
    const inspectors = [this.#internals.options.inspect ?? []].flat()
    const embed = () => model.embed(texts, purpose, options)
    const { vectors, usage } = await tracedEmbeddings(inspectors, asked, embed)
    return { embeddings: vectors, model: model.model, ...(usage && { usage }) }
  }
}

/** The schema of a typed answer. Without one, the answer would be text. */
const needed = <S extends Schema>(schema: S): S => {
  if (schema) return schema
  throw new ConfigurationError('sendFor needs a schema: write sendFor(prompt, z.object({ … })).')
}

/** The options of a call: which of them are required is a matter of types. */
const lastOf = (rest: readonly unknown[]): AnyOptions => (rest[0] ?? {}) as AnyOptions

/** The snapshot of a run that waits. The snapshot itself says what it waits for: the list beside it is for reading. */
const snapshotOf = (pending: PendingApproval): Snapshot<unknown> => {
  if (isJsonObject(pending) && isJsonObject(pending.snapshot)) return pending.snapshot
  const isResult = isJsonObject(Object(pending).pendingApproval)
  throw new ConfigurationError(
    `resume takes the pendingApproval of a result, as you got it or stored it${isResult ? ': write resume(result.pendingApproval, decisions)' : ''}.`,
  )
}
