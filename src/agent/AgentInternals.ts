import type { Actor, AnyActorLogic, AnyActorRef, AnyStateMachine } from 'xstate'
import { type AgentMachineConfig, someInBackground, synchronous } from '../../machines/agent/agentConfig.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { createChart } from '../../machines/agent/chart.ts'
import { reportBetween } from '../../machines/logic/reports.ts'
import {
  type MachineChange,
  type RunHost,
  type RunSurroundings,
  withHost,
  withSurroundings,
  withValues,
} from '../../machines/logic/runEnvironment.ts'
import { runMachineOf } from '../../machines/logic/runMachine.ts'
import { isChart, registerRunMachine } from '../../machines/logic/wrapLogic.ts'
import type { PrepareStep } from '../../machines/model/prepareStep.ts'
import {
  defaultOrchestrator,
  type Orchestrator,
  orchestratorParts,
} from '../../machines/orchestrators/orchestrator.ts'
import { typedOutputOrchestrator } from '../../machines/orchestrators/typedOutput.ts'
import { refuseInheriting } from '../../machines/policy/policyConfig.ts'
import type { PolicyOptions } from '../../machines/policy/policyEvents.ts'
import { connectedModel, connectionIn } from '../../providers/chatModels.ts'
import { findProvider } from '../../providers/namedProviders.ts'
import type { EmbeddingsModel, MediaModel } from '../../providers/provider.ts'
import { ConfigurationError, describeThrown, isOwnError, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ChatResult, SendResult } from '../messages/result.ts'
import type { ChatModel } from '../model/chatModel.ts'
import { parseModelString } from '../model/modelString.ts'
import { newId } from '../model/newId.ts'
import { type CompiledSchema, compileSchema, type Schema } from '../tools/schema.ts'
import { readSkills, type Skills } from '../tools/skills.ts'
import type { AnyToolEntry } from '../tools/tool.ts'
import { type WireSchema, wireSchemaOf } from '../tools/typedAnswer.ts'
import { InheritingMachines, refuseAlone } from './agentTool.ts'
import { ChunkStream } from './ChunkStream.ts'
import { checkActor, checkAgent, checkSend } from './checkOptions.ts'
import { environmentInspector } from './environmentInspector.ts'
import { fallbackModel, withModelStrings, withPolicyModels, withSummariser } from './namedModels.ts'
import {
  type AgentOptions,
  type AnyAgent,
  type AnyOptions,
  type HostedFrom,
  inputOf,
  machineOptions,
  type StartFrom,
  settingsOf,
} from './options.ts'
import { announce, Run, started } from './Run.ts'
import { RunInternals } from './RunInternals.ts'
import {
  createRunActor,
  isStored,
  type RunSetup,
  type RunStart,
  storedRun,
  textForm,
  typedForm,
} from './runSetup.ts'
import { valueOutput } from './typedMachine.ts'
import { harmlessInspect, type Inspect } from './watching.ts'

const internalsOf = new WeakMap<object, AgentInternals>()

/** Everything behind an agent, for the other files of this library. */
export const agentInternals = (agent: AnyAgent): AgentInternals => {
  const internals = isJsonObject(agent) ? internalsOf.get(agent) : undefined
  if (internals) return internals
  throw new ConfigurationError(
    'This is not an agent of this copy of statewire: make it with new Agent(model, options).',
  )
}

/** The agent that a machine belongs to. All wrappers of the machine for one run keep its step function. */
export const agentOfMachine = (machine: object | null): AgentInternals | undefined => {
  const { transition }: { transition?: unknown } = machine ?? {}
  return typeof transition === 'function' ? internalsOf.get(transition) : undefined
}

/** The schema of a typed answer, in two forms: compiled for the check, and as the input stores it. */
type Asked = { compiled: CompiledSchema<unknown>; wire: WireSchema; outputSchema: JsonObject }

/** The machines of an agent, and the runs and actors that are made of them. */
export class AgentInternals {
  readonly model: ChatModel
  readonly options: AgentOptions<never>
  /** True for a model that was named by a string. */
  readonly isNamed: boolean
  readonly embeddings: (() => EmbeddingsModel) | undefined
  readonly media: (() => MediaModel) | undefined
  readonly #surroundings: RunSurroundings
  readonly #compaction: AgentMachineConfig['compaction']
  readonly #policy: PolicyOptions | undefined
  readonly #skills: Skills | undefined
  #machine: AgentMachine | undefined
  #chart: AnyStateMachine | undefined
  /** Machines for calls, by the policy of the run that makes them. */
  readonly #inheriting = new InheritingMachines()
  /** Machines for typed answers: without tools (false) and with them. */
  readonly #typedMachines = new Map<boolean, AgentMachine>()

  constructor(agent: AnyAgent, model: string | ChatModel, options: AgentOptions<never>) {
    checkAgent(model, options)
    this.options = { ...options }
    this.isNamed = typeof model === 'string'
    const inspect = [options.inspect ?? [], environmentInspector()?.inspect ?? []].flat().map(harmlessInspect)
    const { clock } = options
    this.#surroundings = { ...(clock && { clock }), ...(inspect.length > 0 && { inspect }) }
    if (typeof model !== 'string') this.model = connectedModel(model, options)
    else {
      const name = parseModelString(model)
      const provider = findProvider(name.provider, name.chat)
      this.model = provider.chatModel(name.chat, connectionIn(options))
      const { embeddingsModel, mediaModel } = provider
      if (mediaModel) this.media = () => mediaModel(name.media, options)
      if (embeddingsModel) this.embeddings = () => embeddingsModel(name.embeddings, options)
    }
    if (options.skills !== undefined) this.#skills = readSkills(options.skills)
    this.#compaction = withSummariser(options.compaction, this.model, options)
    const { policy } = options
    if (policy !== 'inherit') this.#policy = withPolicyModels(policy, this.tools, this.model, options)
    if (policy === undefined) refuseInheriting(this.tools)
    internalsOf.set(agent, this)
  }

  get hasPolicy(): boolean {
    return this.#policy !== undefined
  }

  /** Says whether its runs may have tasks. */
  get hasBackground(): boolean {
    return someInBackground(this.tools)
  }

  /** The name that errors and the inspector show. */
  get name(): string | undefined {
    return this.options.name ?? this.options.orchestrator?.providerHint
  }

  get tools(): readonly AnyToolEntry[] {
    return this.#withSkills(this.options.tools ?? [])
  }

  /** Tools with the one that loads skills: the system prompt names it. */
  #withSkills(tools: readonly AnyToolEntry[]): readonly AnyToolEntry[] {
    return this.#skills ? [...tools, this.#skills.tool] : tools
  }

  /** XState's own machine behind the runs. Agents share theirs: this one works without a run. */
  get chart(): AnyStateMachine {
    refuseAlone(this.options)
    if (!this.options.orchestrator) {
      this.#chart ??= createChart(this.#config(this.tools))
      return this.#chart
    }
    const { root }: { root?: { machine: AnyStateMachine } } = this.machine
    if (root) return root.machine
    throw new ConfigurationError(
      `The orchestrator "${this.name}" is not a chart: agent.chart is there for agents whose orchestrator makes a state machine.`,
    )
  }

  get machine(): AgentMachine {
    if (!this.#machine) {
      this.#machine = this.#build(this.options.orchestrator ?? defaultOrchestrator)
      if (isJsonObject(this.#machine.root)) internalsOf.set(this.#machine.transition, this)
    }
    return this.#machine
  }

  /** The result of a run: T follows from the options. */
  send<T>(from: StartFrom, options: AnyOptions): Promise<SendResult<T>> {
    const internals = this.#internals<T, unknown>(from, options, options.onStart !== undefined)
    announce(internals, options)
    internals.begin()
    return internals.result()
  }

  /** The chunks of a run, which starts with the first pull: C follows from the options. */
  stream<C>(from: () => StartFrom, options: AnyOptions): AsyncIterableIterator<ChatResult<C>> {
    return new ChunkStream((stream) => {
      const internals = this.#internals<unknown, C>(from(), options, options.onStart !== undefined)
      const leave = internals.read(stream)
      announce(internals, options)
      internals.begin()
      return leave
    })
  }

  /** The handle of a run. It starts once the calling code has yielded, so that a listener attached at once gets every event. */
  start<T, C>(from: StartFrom, options: AnyOptions): Run<T, C> {
    const internals = this.#internals<T, C>(from, options, true)
    const run = new Run(internals)
    if (options.onStart) started(options.onStart, run)
    queueMicrotask(() => internals.begin())
    return run
  }

  /** The actor of a run, not yet started; a `host` stores its steps. */
  actor(
    from: HostedFrom,
    values: AnyOptions,
    { inspect: also, host }: { inspect?: Inspect | undefined; host?: RunHost } = {},
  ): Actor<AgentMachine> {
    checkActor(values)
    const asked = this.#asked(values.schema)
    const start: RunStart =
      asked && 'input' in from ? { input: { ...from.input, outputSchema: asked.outputSchema } } : from
    const machine = this.machineFor(values, asked?.wire)
    return createRunActor({
      machine: host ? withHost(machine, host) : machine,
      start,
      inspect: also && harmlessInspect(also),
      clock: this.options.clock,
      name: this.name,
    })
  }

  #internals<T, C>(from: StartFrom, options: AnyOptions, isHeld: boolean): RunInternals<T, C> {
    checkSend(from, options)
    const { schema, signal, parent } = options
    const stored = isStored(from) ? storedRun(from.snapshot) : undefined
    if (stored?.isTyped && !schema)
      throw new ConfigurationError('The run was asked for a typed answer: resume it with its { schema }.')
    const asked = this.#asked(schema)
    const id = stored?.id ?? options.id ?? newId()
    const start: RunStart = isStored(from) ? from : { input: inputOf(from, options, id, asked?.outputSchema) }
    const form: object = asked ? typedForm(asked.compiled) : textForm
    const setup = {
      id,
      machine: this.machineFor(options, asked?.wire),
      start,
      signal,
      clock: this.options.clock,
      name: this.name,
      parent,
      isHeld,
      ...form,
    }
    // Text, or values of the schema: the caller has worked out T and C from it.
    return new RunInternals(setup as RunSetup<T, C>)
  }

  #asked(schema: Schema | undefined): Asked | undefined {
    if (!schema) return undefined
    const compiled = compileSchema(schema, 'The output schema')
    const wire = wireSchemaOf(compiled)
    // An orchestrator gets the schema as it is, and decides itself how to ask for it.
    const { jsonSchema: outputSchema } = this.options.orchestrator ? compiled : wire
    return { compiled, wire, outputSchema }
  }

  /** The machine of runs with a typed output: the values of the schema. */
  typedMachine(schema: Schema | undefined, values: AnyOptions): AnyActorLogic {
    checkActor(values)
    const asked = this.#asked(schema)
    return this.machineFor(values, asked?.wire, asked && valueOutput(asked.compiled, asked.outputSchema))
  }

  /** The machine for one run: what answers, and the values it is given. */
  machineFor(options: AnyOptions, answerSchema?: WireSchema, change?: MachineChange): AgentMachine {
    const { context, prepareStep, parent, conversation } = options
    const tools = options.tools && this.#withSkills(options.tools)
    const isTyped = answerSchema !== undefined && !this.options.orchestrator
    const machine = isTyped ? this.#typedMachine(tools) : this.machine
    const isPlain =
      !answerSchema && context === undefined && !tools && !prepareStep && !parent && !conversation
    if (isPlain) return machine
    const values = {
      context,
      ...(answerSchema && { answerSchema }),
      ...(conversation !== undefined && { conversation }),
      ...(tools && { tools }),
      ...(prepareStep && { prepareStep: this.#withModels(prepareStep) }),
    }
    return withValues(machine, values, change)
  }

  /** The machine for the call of another run, whose policy judges the calls of an agent that inherits it. */
  machineUnder(call: AnyActorRef | undefined): AgentMachine {
    if (this.options.policy !== 'inherit') return this.machine
    const machine = this.#inheriting.of(call, this.#config(this.tools), (made) =>
      this.#withSurroundings(made),
    )
    internalsOf.set(machine.transition, this)
    return machine
  }

  /** The machine that answers for a schema, which comes with the input. It depends on whether there are tools. */
  #typedMachine(tools: readonly AnyToolEntry[] = this.tools): AgentMachine {
    const hasTools = tools.length > 0
    const machine = this.#typedMachines.get(hasTools) ?? this.#build(typedOutputOrchestrator, tools)
    this.#typedMachines.set(hasTools, machine)
    return machine
  }

  #build({ create, providerHint }: Orchestrator, tools: readonly AnyToolEntry[] = this.tools): AgentMachine {
    refuseAlone(this.options)
    const parts = orchestratorParts(this.#config(tools))
    // An orchestrator has the contract of the lifecycle machine, even if it is other actor logic.
    const logic: AnyActorLogic | undefined = created(() => create(parts), providerHint)
    if (typeof logic?.transition !== 'function')
      throw new OrchestrationError(`The orchestrator "${providerHint}" did not return actor logic.`, {
        orchestrator: providerHint,
      })
    const machine = isChart(logic)
      ? runMachineOf(logic, { report: reportBetween })
      : registerRunMachine(logic as AgentMachine)
    return this.#withSurroundings(machine)
  }

  #withSurroundings(machine: AgentMachine): AgentMachine {
    const isPlain = Object.keys(this.#surroundings).length === 0
    return isPlain ? machine : withSurroundings(machine, this.#surroundings)
  }

  #config(tools: readonly AnyToolEntry[]): AgentMachineConfig {
    const { fallback = [], prepareStep } = this.options
    return {
      ...machineOptions(this.options),
      tools,
      ...(this.#skills && { skillList: this.#skills.list }),
      ...(prepareStep && { prepareStep: this.#withModels(prepareStep) }),
      ...(this.#compaction !== undefined && { compaction: this.#compaction }),
      ...(this.#policy && { policy: this.#policy }),
      model: this.model,
      fallback: fallback.map((each) => fallbackModel(each, this.options)),
      settings: settingsOf(this.options) ?? {},
    }
  }

  #withModels(prepare: PrepareStep<never, string | ChatModel>): PrepareStep {
    return withModelStrings(prepare, this.model, this.options)
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
