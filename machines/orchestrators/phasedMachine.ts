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
  type StateValue,
  setup,
} from 'xstate'
import { errorDataOf } from '../../src/messages/errors.ts'
import {
  abortedBy,
  abortedOutput,
  completeOutput,
  failedOutput,
  finalChunk,
  lastText,
} from '../agent/agentOutput.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from '../agent/events.ts'
import { withFastPath } from '../logic/fastPath.ts'
import type { RunEmitted, RunStands } from '../logic/reportToParent.ts'
import { type RunMachine, runMachine } from '../logic/runMachine.ts'
import { announcementOf } from '../model/receiveDeltas.ts'
import { phasedMigrations } from '../stored/migrations.ts'
import { storedPhasesFlaw } from '../stored/storedPhases.ts'
import { withStoredCheck } from '../stored/version.ts'
import { noteAbort, outputOf, runCommands, runStates, toFailure } from './invokedRun.ts'
import {
  absorb,
  answerOf,
  brokenRun,
  initialPhases,
  isRunEnd,
  labelled,
  type PhasedRun,
  unanswered,
} from './phasedRun.ts'

/** Where the good end of a phase leads, if its guard says so. */
export type PhaseWay = {
  /** A guard of the machine; left out: always. */
  when?: string
  /** A phase, `Complete` or `Failed`. */
  to: string
  /** What is kept of the phase's output: the name of one of `takes`. */
  take?: string
}

type AnyPhase<State> = {
  /** What happens in it, in one sentence: drawings and the inspector show it. */
  description?: string
  /** What it is asked. */
  input(state: State): unknown
  /** Where its end leads: a state, or the first way that is open. */
  next: string | readonly PhaseWay[]
}

/** A phase that is a run of the lifecycle chart. What the run brings is added to the whole. */
export type RunPhase<State> = AnyPhase<State> & {
  /** The machine of the run: what `lifecycle()` gives. */
  run: AnyActorLogic
  input(state: State): AgentInput
  /** Shown in the `metadata.phase` of its chunks; text of another label begins a new line. */
  label?: string
  /** Its text is the answer of the whole. */
  isAnswer?: boolean
  /** What the listeners of the whole get for an event of the run. Default: the event itself. */
  relay?(emitted: AgentEmitted): readonly AgentEmitted[]
}

/** A phase that is anything else: a promise, mostly. An abort ends the whole at once. */
export type StepPhase<State> = AnyPhase<State> & { step: AnyActorLogic }

/** What is kept of a phase: data, and what the listeners of the whole get. */
export type Taken<State> = { change?: Partial<State>; emitted?: readonly AgentEmitted[] }

/** What {@link createPhasedMachine} makes a chart of. */
export type PhasedOptions<Data extends object, Name extends string = string> = {
  /** The name of the chart, in errors and in the inspector. */
  id: string
  /** The phases, by the names of their states. The first one begins. */
  phases: Readonly<Record<Name, RunPhase<PhasedRun & Data> | StepPhase<PhasedRun & Data>>>
  /** Data of your own, as it is at the start: JSON. */
  data?: Data
  guards?: Readonly<Record<string, (state: PhasedRun & Data, output: never) => boolean>>
  takes?: Readonly<Record<string, (state: PhasedRun & Data, output: never) => Taken<PhasedRun & Data>>>
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

/** The same, with any data. */
type AnyPhases = {
  id: string
  data?: object
  phases: Readonly<Record<string, RunPhase<never> | StepPhase<never>>>
  guards?: Readonly<Record<string, (state: never, output: never) => boolean>>
  takes?: Readonly<Record<string, (state: never, output: never) => Taken<PhasedRun>>>
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
): PhasedMachine<Name, Data> => {
  const chart: PhasedMachine<Name, Data> = runMachine(createPhasedChart(options), true)
  const relay = relaying(options)
  // As around the lifecycle chart: see `createAgentMachine`.
  const flawIn = storedPhasesFlaw(options.phases, options.data ?? {})
  return withFastPath(withStoredCheck(chart, flawIn, phasedMigrations(options.phases)), {
    read: ({ context, value }, event) => {
      if (event.type !== 'run.emitted') return undefined
      try {
        return relay(context, event as RunEmitted, phaseOf(value))
      } catch {
        // The user's `relay` has thrown: it does so again in the chart, which then ends properly.
        return undefined
      }
    },
    standsFor: ['relay'],
  })
}

/**
 * The chart alone, as XState's own machine: what drawings, graphs and path tests are made from.
 *
 * @example createPhasedChart(options).root.states // one for each phase, Complete, Failed, Aborted
 */
export const createPhasedChart = <Data extends object, Name extends string>(
  options: PhasedOptions<Data, Name>,
): AnyStateMachine => chartOf(options)

/** The name of the phase that a chart is in: one with a run has states below it. */
const phaseOf = (value: StateValue): string => String(Object.keys(value)[0])

/** What a phase's run emits, as the whole emits it. */
const relaying =
  ({ phases }: AnyPhases) =>
  (state: PhasedRun, { emitted }: RunEmitted, name: string) => {
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
  const states = Object.fromEntries(
    Object.entries(phases).map(([name, phase]) => [
      name,
      'run' in phase ? runState(name, phase) : stepState(name, phase),
    ]),
  )
  const parts = setup({
    types: {
      context: {} as PhasedRun,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentCommand | RunEmitted | RunStands,
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
        const { context: next, emitted } = relay(context, event, phase)
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
      noteBroken: assign(({ context }, { error, state }: { error: unknown; state: string }) =>
        brokenRun(context, errorDataOf(error), id, state),
      ),
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

/** What was asked for with the prompt counts in every phase. */
const askedOfAll = ({ id, system, settings, maxSteps, limits }: AgentInput): AgentInput => ({
  ...(id !== undefined && { id }),
  ...(system !== undefined && { system }),
  ...(settings !== undefined && { settings }),
  ...(maxSteps !== undefined && { maxSteps }),
  ...(limits !== undefined && { limits }),
})

const runState = (name: string, { description, input, next, isAnswer = false }: RunPhase<never>) => {
  const absorbRun = { type: 'absorbRun', params: outputOf }
  const kept = isAnswer ? [absorbRun, { type: 'takeAnswer', params: outputOf }] : [absorbRun]
  return {
    description,
    tags: 'streaming',
    invoke: {
      id: 'run',
      src: name,
      input: ({ context }: { context: PhasedRun }) => ({
        ...askedOfAll(context.input),
        ...(input as (state: PhasedRun) => AgentInput)(context),
      }),
      onDone: [
        { guard: { type: 'isAborted', params: outputOf }, target: 'Aborted', actions: absorbRun },
        { guard: { type: 'isFailed', params: outputOf }, target: 'Failed', actions: absorbRun },
        ...waysOf(name, next, kept),
      ],
      onError: toFailure(name),
    },
    on: {
      ...runCommands,
      'run.emitted': { actions: { type: 'relay', params: { phase: name } } },
    },
    ...runStates,
  }
}

const stepState = (name: string, { description, input, next }: StepPhase<never>) => ({
  description,
  invoke: {
    id: 'step',
    src: name,
    input: ({ context }: { context: PhasedRun }) => input(context as never),
    onDone: waysOf(name, next, []),
    onError: toFailure(name),
  },
  on: { abort: { target: 'Aborted', actions: noteAbort } },
})

const waysOf = (from: string, next: string | readonly PhaseWay[], kept: readonly object[]) =>
  (typeof next === 'string' ? [{ to: next } as PhaseWay] : next).map(({ when, to, take }) => ({
    target: to,
    ...(to === from && { reenter: true }),
    ...(when !== undefined && { guard: { type: when, params: outputOf } }),
    actions: [...kept, ...(take === undefined ? [] : [{ type: take, params: outputOf }])],
  }))
