import { assign, emit, enqueueActions, forwardTo, setup } from 'xstate'
import { errorDataOf } from '../src/messages/errors.ts'
import type { AgentMachine } from './agentMachine.ts'
import { abortedBy, abortedOutput, completeOutput, failedOutput, finalChunk } from './agentOutput.ts'
import { absorb, brokenRun, historyOf } from './compositeRun.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from './events.ts'
import { afterRun, brokenIn, outputOf, phaseCommands, runGuards, takeRun } from './phase.ts'
import { initialPhases, inPhase, type PhasedRun } from './phasedRun.ts'
import type { RunEmitted } from './reportToParent.ts'

/** The phases of `reflectionOrchestrator`. */
export type ReflectionPhase = 'draft' | 'critique' | 'revision'

type ReflectionState = PhasedRun & {
  /** Revisions so far. */
  round: number
}

export type ReflectionParts = {
  /** What the model is asked after its draft. */
  prompts: Readonly<Record<Exclude<ReflectionPhase, 'draft'>, string>>
  /** Revisions at most. */
  maxRounds: number
  /** Whether a critique finds nothing more to improve. */
  isContent: (critique: string) => boolean
  /** The run that writes. */
  author: AgentMachine
  /** The run that judges, without tools. */
  critic: AgentMachine
}

/** Answers, judges the answer and writes it anew, until the judgement is good or the rounds are used up. */
export const createReflectionMachine = ({ prompts, maxRounds, isContent, author, critic }: ReflectionParts) =>
  setup({
    types: {
      context: {} as ReflectionState,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentCommand | RunEmitted,
      emitted: {} as AgentEmitted,
    },
    actors: { author, critic },
    guards: {
      ...runGuards,
      isContent: (_: unknown, { output }: { output: string }) => isContent(output),
      mayReviseAgain: ({ context }) => context.round + 1 < maxRounds,
    },
    actions: {
      forward: forwardTo('run'),
      relay: enqueueActions(({ context, event, enqueue }, { phase }: { phase: ReflectionPhase }) => {
        if (event.type !== 'run.emitted') return
        const { told, shown } = inPhase(context, event.emitted, phase)
        enqueue.assign({ shown })
        for (const each of told) enqueue.emit(each)
      }),
      takeRun: assign(({ context }, output: AgentOutput) => absorb(context, output)),
      takeAnswer: assign(({ context }, output: AgentOutput) => ({
        ...absorb(context, output),
        answer: output.output,
      })),
      countRound: assign(({ context }) => ({ round: context.round + 1 })),
      noteBroken: assign((_, { error, state }: { error: unknown; state: string }) =>
        brokenRun(errorDataOf(error), 'reflection', state),
      ),
      noteAbort: assign((_, command: { reason?: string | undefined }) => abortedBy(command)),
      announceEnd: emit(({ context }) => finalChunk(context)),
    },
  }).createMachine({
    id: 'reflection',
    context: ({ input }) => ({ ...initialPhases(input), round: 0 }),
    initial: 'Draft',
    output: ({ event }) => event.output as AgentOutput,

    states: {
      Draft: {
        invoke: {
          id: 'run',
          src: 'author',
          input: ({ context }) => context.input,
          onDone: afterRun({ target: 'Critique', actions: takeAnswer }),
          onError: brokenIn('Draft'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'draft' } } },
        },
      },

      Critique: {
        invoke: {
          id: 'run',
          src: 'critic',
          input: ({ context }) => ({ history: historyOf(context), prompt: prompts.critique }),
          onDone: afterRun(
            { guard: { type: 'isContent', params: outputOf }, target: 'Complete', actions: takeRun },
            { target: 'Revise', actions: takeRun },
          ),
          onError: brokenIn('Critique'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'critique' } } },
        },
      },

      Revise: {
        invoke: {
          id: 'run',
          src: 'author',
          input: ({ context }) => ({
            ...shapeOf(context.input),
            history: historyOf(context),
            prompt: prompts.revision,
          }),
          onDone: afterRun(
            { guard: 'mayReviseAgain', target: 'Critique', actions: [takeAnswer, 'countRound'] },
            { target: 'Complete', actions: [takeAnswer, 'countRound'] },
          ),
          onError: brokenIn('Revise'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'revision' } } },
        },
      },

      Complete: {
        type: 'final',
        entry: 'announceEnd',
        output: ({ context }) => ({ ...completeOutput(context), output: context.answer }),
      },
      Failed: { type: 'final', entry: 'announceEnd', output: ({ context }) => failedOutput(context) },
      Aborted: { type: 'final', entry: 'announceEnd', output: ({ context }) => abortedOutput(context) },
    },
  })

const takeAnswer = { type: 'takeAnswer', params: outputOf } as const

/** A revision has the shape that was asked of the draft. */
const shapeOf = ({ outputSchema }: AgentInput): AgentInput => (outputSchema ? { outputSchema } : {})
