import {
  type AnyActorLogic,
  type AnyActorRef,
  type AnyStateMachine,
  assign,
  emit,
  enqueueActions,
  forwardTo,
  type MachineSnapshot,
  type MetaObject,
  type StateSchema,
  setup,
} from 'xstate'
import { abortedBy, abortedOutput, completeOutput, failedOutput, lastText } from '../agent/agentOutput.ts'
import { announcementOf, finalChunk } from '../agent/announcements.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from '../agent/events.ts'
import { broken } from '../agent/failures.ts'
import type { RunMachine } from '../logic/wrapLogic.ts'
import { phasedMigrations } from '../stored/migrations.ts'
import { storedPhasesFlaw } from '../stored/storedPhases.ts'
import {
  machineOfRuns,
  noteAbort,
  outputOf,
  type Relay,
  type RunsEvent,
  runState,
  toFailure,
} from './invokedRun.ts'
import {
  absorb,
  answerOf,
  initialPhases,
  isRunEnd,
  labelled,
  type PhasedRun,
  unanswered,
} from './phasedRun.ts'

/** An exit of a phase that ended well: where it leads, if its guard says so. */
export type PhaseExit = {
  /** A guard of the machine; left out: always. */
  when?: string
  /** A phase, `Complete` or `Failed`. */
  to: string
  /** The name of one of `takes`, which keeps a part of the phase's output. */
  take?: string
}

type AnyPhase<State> = {
  /** A sentence on what happens in it: drawings and the inspector show it. */
  description?: string
  /** Makes the input of its run or step. */
  input(state: State): unknown
  /** The state that its end leads to, or its exits: the first one that is open is taken. */
  next: string | readonly PhaseExit[]
}

/** A phase that is a run of the lifecycle chart. What the run brings is added to the whole. */
export type RunPhase<State> = AnyPhase<State> & {
  /** The machine of the run: what `lifecycle()` gives. */
  run: AnyActorLogic
  input(state: State): AgentInput
  /** The name in the `metadata.phase` of its chunks; text of another label begins a new line. */
  label?: string
  /** Makes its text the answer of the whole. Default: false. */
  isAnswer?: boolean
  /** Returns what the listeners of the whole get for an event of the run. Default: the event itself. */
  relay?(emitted: AgentEmitted): readonly AgentEmitted[]
}

/** A phase that is anything else: a promise, mostly. An abort ends the whole at once. */
export type StepPhase<State> = AnyPhase<State> & { step: AnyActorLogic }

/** The change that a phase makes: to the data, and what the listeners of the whole get. */
export type PhaseChange<State> = { change?: Partial<State>; emitted?: readonly AgentEmitted[] }

/** Options of {@link createPhasedMachine}. */
export type PhasedOptions<Data extends object, Name extends string = string> = {
  /** The name of the chart, in errors and in the inspector. */
  id: string
  /** The phases, by the names of their states. The first one begins. */
  phases: Readonly<Record<Name, RunPhase<PhasedRun & Data> | StepPhase<PhasedRun & Data>>>
  /** Your own data, as it is at the start: JSON. */
  data?: Data
  guards?: Readonly<Record<string, (state: PhasedRun & Data, output: never) => boolean>>
  takes?: Readonly<Record<string, (state: PhasedRun & Data, output: never) => PhaseChange<PhasedRun & Data>>>
}

/** The machine of a chart made of runs; its states are its phases and the three ends. */
export type PhasedMachine<Name extends string = string, Data extends object = object> = RunMachine<
  MachineSnapshot<
    PhasedRun & Data,
    AgentCommand,
    Record<string, AnyActorRef | undefined>,
    Name | { [Phase in Name]?: 'Working' | 'Waiting' } | 'Complete' | 'Failed' | 'Aborted',
    'streaming' | 'waiting',
    AgentOutput,
    MetaObject,
    StateSchema
  >
>

/** Options with any data. */
type AnyPhases = {
  id: string
  data?: object
  phases: Readonly<Record<string, RunPhase<never> | StepPhase<never>>>
  guards?: Readonly<Record<string, (state: never, output: never) => boolean>>
  takes?: Readonly<Record<string, (state: never, output: never) => PhaseChange<PhasedRun>>>
}

/**
 * A chart made of runs: each phase is a state that runs the lifecycle chart, in one conversation. It passes commands to
 * its runs, forwards what they emit, adds up their results, and ends in `Complete`, `Failed` or `Aborted`. It can be
 * aborted at any moment, also between two phases.
 *
 * @example
 * const inFrench: Orchestrator = {
 *   providerHint: 'in-french',
 *   create: ({ lifecycle }) =>
 *     createPhasedMachine({
 *       id: 'in-french',
 *       phases: {
 *         Answering: { run: lifecycle(), input: ({ input }) => input, next: 'Translating' },
 *         Translating: {
 *           run: lifecycle({ tools: [] }),
 *           input: (state) => ({ history: historyOf(state), prompt: 'Again, in French.' }),
 *           isAnswer: true,
 *           next: 'Complete',
 *         },
 *       },
 *     }),
 * }
 */
export const createPhasedMachine = <Data extends object = object, Name extends string = string>(
  options: PhasedOptions<Data, Name>,
): PhasedMachine<Name, Data> =>
  machineOfRuns(createPhasedChart(options), relaying(options), {
    flawIn: storedPhasesFlaw(options.phases, options.data ?? {}),
    migrations: phasedMigrations(options.phases),
  })

/**
 * The chart alone, as XState's own machine: drawings, graphs and path tests are made from it.
 *
 * @example createPhasedChart(options).root.states // one for each phase, Complete, Failed, Aborted
 */
export const createPhasedChart = <Data extends object, Name extends string>(
  options: PhasedOptions<Data, Name>,
): AnyStateMachine => chartOf(options)

/** Relays what the run of a phase emits, with the phase's label. */
const relaying =
  ({ phases }: AnyPhases): Relay<PhasedRun> =>
  (state, emitted, name) => {
    // Only a phase with a run gets here.
    const { relay, label } = phases[name] as RunPhase<never>
    const ofWhole = emitted.filter((each) => !isRunEnd(each))
    const relayed = relay ? ofWhole.flatMap(relay) : ofWhole
    if (label === undefined) return { context: state, emitted: relayed }
    const { shown, emitted: labelledEvents } = labelled(state, relayed, label)
    return { context: shown === state.shown ? state : { ...state, shown }, emitted: labelledEvents }
  }

const chartOf = (options: AnyPhases): AnyStateMachine => {
  const { id, phases, guards = {}, takes = {} } = options
  const relay = relaying(options)
  // If some phases say that they answer, the others do not.
  const runs = Object.values(phases).flatMap((phase) => ('run' in phase ? phase : []))
  const isDraft = (phase: RunPhase<never>) => !phase.isAnswer && runs.some(({ isAnswer }) => isAnswer)
  const states = Object.fromEntries(
    Object.entries(phases).map(([name, phase]) => [
      name,
      'run' in phase ? runPhaseState(name, phase, isDraft(phase)) : stepState(name, phase),
    ]),
  )
  const parts = setup({
    types: {
      context: {} as PhasedRun,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as RunsEvent,
      emitted: {} as AgentEmitted,
      tags: {} as 'streaming' | 'waiting',
    },
    actors: Object.fromEntries(
      Object.entries(phases).map(([name, phase]) => [name, 'run' in phase ? phase.run : phase.step]),
    ),
    guards: {
      isAborted: ({ context }, { status }: AgentOutput) =>
        status === 'aborted' || context.totals.finishReason === 'aborted',
      isFailed: (_, { status }: AgentOutput) => status === 'failed',
      ...mapValues(
        guards,
        (guard) =>
          ({ context }: { context: PhasedRun }, output: unknown) =>
            guard(context as never, output as never),
      ),
    },
    actions: {
      forward: forwardTo('run'),
      relay: enqueueActions(({ context, event, enqueue }, { phase }: { phase: string }) => {
        if (event.type !== 'run.emitted') return
        const { context: next, emitted } = relay(context, event.emitted, phase)
        if (next !== context) enqueue.assign(next)
        for (const each of emitted) enqueue.emit(each)
      }),
      absorbRun: enqueueActions(({ context, enqueue }, output: AgentOutput) => {
        enqueue.assign(absorb(context, output))
        // The run has already emitted its own part.
        for (const message of unanswered(context.messages, output))
          for (const each of announcementOf(output.id, message)) enqueue.emit(each)
      }),
      takeAnswer: assign((_, { output }: AgentOutput) => ({ answer: output })),
      ...mapValues(takes, (take) =>
        enqueueActions(({ context, enqueue }, output: unknown) => {
          const { change = {}, emitted = [] } = take(context as never, output as never)
          enqueue.assign(change)
          for (const each of emitted) enqueue.emit(each as never)
        }),
      ),
      noteBroken: assign(({ context: { totals } }, { error, state }: { error: unknown; state: string }) => ({
        failure: broken(error, id, state),
        totals: { ...totals, finishReason: 'error' as const },
      })),
      noteAbort: assign(({ context }, command: { reason?: string | undefined }) =>
        abortedBy(context, command),
      ),
      announceEnd: emit(({ context }) => finalChunk(context)),
    },
  })
  const config = {
    id,
    context: ({ input }: { input: AgentInput }) => ({ ...initialPhases(input), ...options.data }),
    initial: Object.keys(phases)[0] ?? 'Complete',
    output: outputOf,
    states: {
      ...states,
      Complete: endState((state) => ({
        ...completeOutput(state),
        output: answerOf(state),
        answer: state.answer ?? lastText(state.messages),
      })),
      Failed: endState(failedOutput),
      Aborted: endState(abortedOutput),
    },
  }
  // XState's types have the names of states only where they are written out.
  return (parts.createMachine as (config: object) => AnyStateMachine)(config)
}

const endState = (output: (state: PhasedRun) => AgentOutput) => ({
  type: 'final',
  entry: 'announceEnd',
  output: ({ context }: { context: PhasedRun }) => output(context),
})

const mapValues = <T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))

/** The options that came with the prompt: they count in every phase. */
const askedOfAll = ({ id, system, settings, maxSteps, limits }: AgentInput): AgentInput => ({
  ...(id !== undefined && { id }),
  ...(system !== undefined && { system }),
  ...(settings !== undefined && { settings }),
  ...(maxSteps !== undefined && { maxSteps }),
  ...(limits !== undefined && { limits }),
})

/** The input of a phase, with the policy as the last phase left it. It is asked about the user's prompt and the answer only. */
const withPolicy = ({ policy, messages }: PhasedRun, input: AgentInput, isDraft: boolean): AgentInput => {
  const unasked = new Set(input.unasked)
  if (policy && messages.length > 0) unasked.add('prompt')
  if (isDraft) unasked.add('answer')
  return { ...input, ...(policy && { policy }), ...(unasked.size > 0 && { unasked: [...unasked] }) }
}

const runPhaseState = (
  name: string,
  { description, input, next, isAnswer = false }: RunPhase<never>,
  isDraft: boolean,
) => {
  const absorbRun = { type: 'absorbRun', params: outputOf }
  const kept = isAnswer ? [absorbRun, { type: 'takeAnswer', params: outputOf }] : [absorbRun]
  return runState({
    name,
    src: name,
    description,
    input: ({ context }: { context: PhasedRun }) => ({
      ...askedOfAll(context.input),
      ...withPolicy(context, (input as (state: PhasedRun) => AgentInput)(context), isDraft),
      // The request before may have been another phase's.
      ...(context.totals.prefix && { prefix: context.totals.prefix }),
    }),
    onDone: [
      { guard: { type: 'isAborted', params: outputOf }, target: 'Aborted', actions: absorbRun },
      { guard: { type: 'isFailed', params: outputOf }, target: 'Failed', actions: absorbRun },
      ...exitsOf(name, next, kept),
    ],
  })
}

const stepState = (name: string, { description, input, next }: StepPhase<never>) => ({
  description,
  invoke: {
    id: 'step',
    src: name,
    input: ({ context }: { context: PhasedRun }) => input(context as never),
    onDone: exitsOf(name, next, []),
    onError: toFailure(name),
  },
  on: { abort: { target: 'Aborted', actions: noteAbort } },
})

const exitsOf = (from: string, next: string | readonly PhaseExit[], kept: readonly object[]) =>
  (typeof next === 'string' ? [{ to: next } as PhaseExit] : next).map(({ when, to, take }) => ({
    target: to,
    ...(to === from && { reenter: true }),
    ...(when !== undefined && { guard: { type: when, params: outputOf } }),
    actions: [...kept, ...(take === undefined ? [] : [{ type: take, params: outputOf }])],
  }))
