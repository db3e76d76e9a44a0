import { type Actor, createActor } from 'xstate'
import type { AgentMachineConfig } from '../machines/agentConfig.ts'
import { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
import type { AgentInput } from '../machines/events.ts'
import type { ConnectionOptions, EmbeddingsModel, EmbedOptions } from '../providers/provider.ts'
import { findProvider } from '../providers/registry.ts'
import { AgentRun, type Inspect, type RunOptions } from './AgentRun.ts'
import { ChunkStream } from './ChunkStream.ts'
import type { ChatModel, GenerationSettings } from './chatModel.ts'
import { ConfigurationError, describeThrown, OutputValidationError } from './errors.ts'
import type { ChatMessage, Part } from './messages.ts'
import { parseModelString } from './modelString.ts'
import type { ChatResult, Usage } from './result.ts'
import { type CompiledSchema, compileSchema, type Infer, type Schema } from './schema.ts'

export type AgentOptions = GenerationSettings &
  ConnectionOptions &
  Pick<
    AgentMachineConfig,
    | 'tools'
    | 'system'
    | 'maxSteps'
    | 'toolExecution'
    | 'retry'
    | 'timeouts'
    | 'accumulator'
    | 'toolExecutor'
    | 'clock'
  > & {
    /** Sees every actor, event and transition of every run: XState's own `inspect`. */
    inspect?: Inspect
  }

/** Vectors of one text or of several, and what they cost. */
export type EmbeddingsResult<T> = { embeddings: T; model: string; usage?: Usage }

export type SendOptions = {
  /** The conversation so far: the `messages` of earlier results. */
  history?: ChatMessage[]
  /** Images, documents and other parts that go with the prompt. */
  attachments?: Part[]
  signal?: AbortSignal
}

/**
 * A model with tools and settings. Every send is one run of its statechart, and runs do not share anything.
 *
 * @example
 * const agent = new Agent('openai:gpt-5-mini', { tools: [weather] })
 * const { output } = await agent.send('Weather in Oslo?')
 */
export class Agent {
  readonly model: ChatModel
  readonly #options: AgentOptions
  readonly #embeddings: (() => EmbeddingsModel) | undefined
  #machine: AgentMachine | undefined

  /** Takes a model string such as `anthropic:claude-sonnet-5`, or a chat model of your own. */
  constructor(model: string | ChatModel, options: AgentOptions = {}) {
    this.#options = options
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

  /** The statechart of this agent, for `createActor`, `invoke` and `provide`. Built once, on first use. */
  get machine(): AgentMachine {
    this.#machine ??= createAgentMachine({
      ...this.#options,
      model: this.model,
      settings: settingsOf(this.#options),
    })
    return this.#machine
  }

  /** A new run as an actor: subscribe to it, listen to its events, then start it. */
  actor(input: AgentInput): Actor<AgentMachine> {
    const { inspect } = this.#options
    return createActor(this.machine, { input, ...(inspect && { inspect }) })
  }

  /** Runs the prompt to its end and gives the whole result. Throws a typed error with the partial result. */
  send(prompt: string | Part[], options: SendOptions = {}): Promise<ChatResult> {
    return this.#run(inputOf(prompt, options), options)
  }

  /** The same, chunk by chunk. Leaving the loop early ends the run and closes its connection. */
  sendStream(prompt: string | Part[], options: SendOptions = {}): AsyncIterableIterator<ChatResult> {
    return new ChunkStream((stream) => {
      const run = new AgentRun(this.machine, inputOf(prompt, options), this.#runOptions(options), {
        chunk: (chunk) => stream.push(chunk),
        complete: () => stream.finish(),
        fail: (error) => stream.finish(error),
      })
      run.start()
      return () => run.stop()
    })
  }

  /** Asks for a value of the schema's type; `output` is validated. */
  async sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: SendOptions = {},
  ): Promise<ChatResult<Infer<S>>> {
    const compiled = compileSchema(schema, 'The output schema')
    const input = { ...inputOf(prompt, options), outputSchema: compiled.jsonSchema }
    const result = await this.#run(input, options)
    return { ...result, output: await readOutput(result, compiled) }
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

  #run(input: AgentInput, options: SendOptions): Promise<ChatResult> {
    return new Promise((resolve, reject) => {
      new AgentRun(this.machine, input, this.#runOptions(options), {
        complete: resolve,
        fail: reject,
      }).start()
    })
  }

  #runOptions({ signal }: SendOptions): RunOptions {
    return { signal, inspect: this.#options.inspect }
  }
}

const inputOf = (prompt: string | Part[], { history, attachments }: SendOptions): AgentInput => ({
  prompt,
  ...(history && { history }),
  ...(attachments && { attachments }),
})

const settingsOf = (options: AgentOptions): GenerationSettings => {
  const { temperature, maxOutputTokens, topP, stopSequences, seed, toolChoice } = options
  const { parallelToolCalls, thinking, providerOptions } = options
  const settings = {
    temperature,
    maxOutputTokens,
    topP,
    stopSequences,
    seed,
    toolChoice,
    parallelToolCalls,
    thinking,
    providerOptions,
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

const readOutput = async <T>(partial: ChatResult, schema: CompiledSchema<T>): Promise<T> => {
  const rawOutput = partial.output
  let value: unknown
  try {
    value = JSON.parse(rawOutput)
  } catch (cause) {
    const problem = `The answer is not JSON: ${describeThrown(cause)}`
    throw new OutputValidationError(problem, { cause, partial, rawOutput })
  }
  const validation = await schema.validate(value)
  if (validation.ok) return validation.value
  throw new OutputValidationError(`The answer does not fit the schema: ${validation.problem}`, {
    partial,
    rawOutput,
  })
}
