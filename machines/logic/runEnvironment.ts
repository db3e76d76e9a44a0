import type { AnyActorRef, InspectionEvent } from 'xstate'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import type { Clock } from '../../src/model/clock.ts'
import type { AnyToolEntry, Tool } from '../../src/tools/tool.ts'
import type { Attempt } from '../../src/tools/toolExecutor.ts'
import type { WireSchema } from '../../src/tools/typedAnswer.ts'
import type { PrepareStep } from '../model/prepareStep.ts'
import { inspectRun } from './inspectRun.ts'
import { type AnyRunMachine, type RunParts, registerRunMachine, wrappersOf } from './wrapLogic.ts'

// The environment of a run: all that it needs and that is not data. Nothing of it is stored.

/** The values that the caller gives to a run; a restored run is given them again. */
export type RunValues = {
  /** The schema that the answer must fit. */
  answerSchema?: WireSchema
  /** The value that the run's tools get as their context. */
  context?: unknown
  /** The id of the chat that the run is a turn of, for tracers. */
  conversation?: string
  /** The tools of the run, in place of the agent's. */
  tools?: readonly AnyToolEntry[]
  prepareStep?: PrepareStep
}

/**
 * The host of a run: a store that writes each of its steps, or an engine that replays it from records. It serves every
 * machine of the run, also those of sub-agents.
 */
export type RunHost = {
  /** Called when an event of any machine of the run has led to a step, before `writeAhead`: also one that is only passed on. */
  onEvent?(event: object): void
  /**
   * Called as the first effect of a step of any machine of the run: before its children start, and before any listener
   * gets it. If it throws, the step has no effect, and the run stops at the last stored step. Reads of a running answer
   * do not count as steps.
   */
  writeAhead?(): void
  /** The store that the run is written to: there, no other run has its id. */
  store?: string
  /** Time between the last stored step of a restored run and its restart: it does not count as time of the run. */
  stoppedMs?: number
  /** Gives the run the commands that were acknowledged so far. Called before something else decides in place of a person. */
  takeCommands?(): void
  /** Says whether the run is about to be stopped: calls that run may end, and no other one starts. */
  isStopping?(): boolean
  /**
   * Ids that a run makes, by its own id: an engine that replays it needs the same ones, even if other runs run beside
   * it.
   */
  newId?(run: string): string
  /**
   * The time as it was recorded: a run that is replayed begins to wait, and wakes up, when it did before. Default: that of its
   * clock.
   */
  now?(): number
  /**
   * Keeps the timer of a run, and returns what drops it: the host fires it, or wakes the run, when its moment has come. Undefined:
   * it is one of the clock of the run.
   */
  timer?(at: number, run: AnyActorRef, fire: () => void): (() => void) | undefined
  /** The host of a background agent of the run. A host that makes ids, and has no such host, cannot have background agents. */
  ofTask?(): RunHost
  /** Makes one request to a model: `ask` sends it. Its name says which run asks, and for which step. Returns what closes it, as the model does. */
  turn?(name: string, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** Makes one attempt at a call of a tool, by its idempotency key: `execute` runs it. */
  call?(key: string, execute: () => Promise<ToolResultPart>, tool: Tool | undefined): Promise<ToolResultPart>
  /** The result of a call that was cut off, by its idempotency key, where the host has it: the call is then not in doubt. */
  resultOf?(key: string): ToolResultPart | undefined
  /** Makes a check of a policy that holds the run: `run` makes it. Its name says which one. */
  check?(name: string, run: () => Promise<CheckOutcome>): Promise<CheckOutcome>
}

/** The end of a check of a policy, as it is recorded. `stopped`: the policy has left the state that invoked it. */
export type CheckOutcome =
  | { status: 'done'; output?: unknown }
  | { status: 'error'; error: ErrorData }
  | { status: 'stopped' }

/** The parts of an agent that count for its runs wherever they run: below a machine of yours, too. */
export type RunSurroundings = {
  /** The clock of the runs. Default: that of the actor system. */
  clock?: Clock
  /** The inspectors of the runs. None of them throws. */
  inspect?: readonly RunInspector[]
}

/** A function that sees every actor, event and transition of a run. */
export type RunInspector = (event: InspectionEvent) => void

type Environment = RunSurroundings & { values?: RunValues; host?: RunHost }

/** Environments, by the machine that was made for one run. */
const environments = new WeakMap<object, Environment>()

/** Other members of a machine, made from its own. */
export type MachineChange = (inner: AnyRunMachine) => Partial<AnyRunMachine>

const unchanged: MachineChange = () => ({})

/** Returns the machine for one run with these values: one machine serves all runs, with any values. */
export const withValues = <M extends AnyRunMachine>(
  machine: M,
  values: RunValues,
  change: MachineChange = unchanged,
): M => machineWithin(machine, { values }, change)

/** Returns the machine for one run with a host. */
export const withHost = <M extends AnyRunMachine>(machine: M, host: RunHost): M =>
  machineWithin(machine, { host }, unchanged)

/** Returns the machine for the runs of one agent. */
export const withSurroundings = <M extends AnyRunMachine>(machine: M, surroundings: RunSurroundings): M =>
  machineWithin(machine, surroundings, surroundings.inspect ? inspected : unchanged)

/** A copy with the same logic: by its identity, actors find their environment from their first moment on. */
const machineWithin = <M extends AnyRunMachine>(
  machine: M,
  environment: Environment,
  change: MachineChange,
): M => {
  const copy = {
    ...machine,
    ...change(machine),
    provide: (parts: RunParts) => machineWithin(machine.provide(parts), environment, change),
  }
  environments.set(copy, { ...environments.get(machine), ...environment })
  return registerRunMachine(copy, wrappersOf(machine))
}

/** The members of a machine whose actors are shown to their inspectors from their first moment on. */
const inspected: MachineChange = ({ getInitialSnapshot, restoreSnapshot }) => {
  const inspect = (self: AnyActorRef) => {
    const inspectors = inspectorsOf(self)
    if (inspectors.length > 0) inspectRun(self, inspectors)
  }
  return {
    getInitialSnapshot: (scope, input) => {
      inspect(scope.self)
      return getInitialSnapshot(scope, input)
    },
    // Logic of a user need not have it.
    ...(restoreSnapshot && {
      restoreSnapshot: (stored, scope) => {
        inspect(scope.self)
        return restoreSnapshot(stored, scope)
      },
    }),
  }
}

const environmentOf = (actor: AnyActorRef): Environment | undefined =>
  'logic' in actor && typeof actor.logic === 'object' && actor.logic !== null
    ? environments.get(actor.logic)
    : undefined

/** Values that came with the input of a run, by its actor. */
const inputValues = new WeakMap<AnyActorRef, RunValues>()

/** Gives values to the run of an actor, beside those that its machine has. */
export const giveValues = (actor: AnyActorRef, values: RunValues): void => {
  inputValues.set(actor, { ...inputValues.get(actor), ...values })
}

/** The values of the run that an actor belongs to: those of the nearest actor above it that was given any. */
export const valuesOf = (actor: AnyActorRef | undefined): RunValues => {
  if (!actor) return {}
  const given = inputValues.get(actor)
  const values = environmentOf(actor)?.values ?? valuesOf(actor._parent)
  return given ? { ...values, ...given } : values
}

/** The clock of the nearest agent above an actor that has its own. */
export const agentClockOf = (actor: AnyActorRef | undefined): Clock | undefined =>
  actor && (environmentOf(actor)?.clock ?? agentClockOf(actor._parent))

/** The inspectors of the run of an actor that no run above it has. */
const inspectorsOf = (actor: AnyActorRef): readonly RunInspector[] => {
  const own = environmentOf(actor)?.inspect ?? []
  return own.filter((each) => !isInspected(actor._parent, each))
}

const isInspected = (actor: AnyActorRef | undefined, inspector: RunInspector): boolean =>
  actor !== undefined &&
  (environmentOf(actor)?.inspect?.includes(inspector) === true || isInspected(actor._parent, inspector))

const noHost: RunHost = {}

/** The host of the run that an actor belongs to. */
export const hostOf = (actor: AnyActorRef | undefined): RunHost =>
  actor ? (environmentOf(actor)?.host ?? hostOf(actor._parent)) : noHost

/** A request that is about to be sent. */
export type TracedTurn = {
  /** The name of the agent, if it has one. */
  agent: string | undefined
  model: ChatModel
  request: ModelRequest
  /** Takes the credentials of the agent's models out of a text. */
  hide: (text: string) => string
}

/** Calls that are about to run. */
export type TracedCalls = {
  calls: readonly ToolCallPart[]
  tools: ReadonlyMap<string, Tool>
  attemptAt: (callId: string) => Attempt
  hide: (text: string) => string
}

/**
 * A tracer of runs. Inspection shows what happens inside them; requests and tool calls go through here, because only
 * their caller can set the context in which they run.
 */
export type RunTracer = {
  /** A request to a model, made by this actor: `ask` sends it. */
  turn(actor: AnyActorRef, turn: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** Runs a call, or a user's batch, made by this actor: `execute` runs it. */
  calls<T>(actor: AnyActorRef, calls: TracedCalls, execute: () => T): T
}

type System = AnyActorRef['system']
type Tracers = WeakMap<System, RunTracer[]>

/** The key of a registry for all copies of this module: an agent may be part of a bundle, or CommonJS, and its tracer not. */
const registry = Symbol.for('statewire.tracers.1')
const tracersOf = (): Tracers => {
  const shared = globalThis as { [registry]?: Tracers }
  shared[registry] ??= new WeakMap()
  return shared[registry]
}

/** Lets a tracer trace the runs of a system from now on, within the tracers that did before. Once is enough. */
export const addTracer = (system: System, tracer: RunTracer): void => {
  const tracers = tracersOf()
  const known = tracers.get(system)
  if (!known) tracers.set(system, [tracer])
  else if (!known.includes(tracer)) known.push(tracer)
}

/** The tracers from this place of the list on, each within the one before; also those that come while one of them waits. */
const chain = (tracers: readonly RunTracer[], place: number): RunTracer => ({
  turn: (actor, turn, ask, sink) => {
    const tracer = tracers[place]
    const next = (to: ModelSink) => chain(tracers, place + 1).turn(actor, turn, ask, to)
    return tracer ? tracer.turn(actor, turn, next, sink) : ask(sink)
  },
  calls: (actor, calls, execute) => {
    const tracer = tracers[place]
    const next = () => chain(tracers, place + 1).calls(actor, calls, execute)
    return tracer ? tracer.calls(actor, calls, next) : execute()
  },
})

/** All tracers of the run that an actor belongs to, as one. */
export const tracerOf = ({ system }: AnyActorRef): RunTracer => chain(tracersOf().get(system) ?? [], 0)

/** A request for vectors. */
type TracedEmbeddings = { provider: string; model: string; texts: number }

/** Traces a request for vectors, which no actor makes: `embed` sends it. */
export type TraceEmbeddings = <T extends { usage?: Usage | undefined }>(
  asked: TracedEmbeddings,
  embed: () => Promise<T>,
) => Promise<T>

/** The key under which an inspector has the function that traces embeddings. */
export const embeddingsTracer = Symbol.for('statewire.embeddings.1')

/** Traces a request for vectors with each of these inspectors that can. */
export const tracedEmbeddings = <T extends { usage?: Usage | undefined }>(
  inspectors: readonly unknown[],
  asked: TracedEmbeddings,
  embed: () => Promise<T>,
): Promise<T> =>
  inspectors.reduce<() => Promise<T>>((inner, inspector) => {
    const trace: TraceEmbeddings | undefined = Object(inspector)[embeddingsTracer]
    return trace ? () => trace(asked, inner) : inner
  }, embed)()
