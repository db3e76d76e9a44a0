import { assign, emit, enqueueActions, forwardTo, setup } from 'xstate'
import { errorDataOf } from '../src/messages/errors.ts'
import type { AgentMachine } from './agentMachine.ts'
import { abortedBy, abortedOutput, completeOutput, failedOutput, finalChunk } from './agentOutput.ts'
import { absorb, brokenRun, historyOf } from './compositeRun.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from './events.ts'
import { afterRun, brokenIn, outputOf, phaseCommands, runGuards, takeRun } from './phase.ts'
import { firstQuestion, initialPhases, inPhase, type PhasedRun } from './phasedRun.ts'
import type { RunEmitted } from './reportToParent.ts'

/** The phases of `reasoningOrchestrator`, in order. */
export type ReasoningPhase = 'analysis' | 'hypothesis' | 'evidence' | 'synthesis'

export type ReasoningParts = {
  /** What the model is asked in each phase. */
  prompts: Readonly<Record<ReasoningPhase, string>>
  /** The run of a phase without tools. */
  thinker: AgentMachine
  /** The run of the phase with tools. */
  researcher: AgentMachine
  /** Whether the model takes a schema; else it is told of it in words. */
  takesSchema: boolean
}

/** Answers in four phases, each a run of its own in the same conversation; only the third one has the tools. */
export const createReasoningMachine = ({ prompts, thinker, researcher, takesSchema }: ReasoningParts) =>
  setup({
    types: {
      context: {} as PhasedRun,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentCommand | RunEmitted,
      emitted: {} as AgentEmitted,
    },
    actors: { thinker, researcher },
    guards: runGuards,
    actions: {
      forward: forwardTo('run'),
      relay: enqueueActions(({ context, event, enqueue }, { phase }: { phase: ReasoningPhase }) => {
        if (event.type !== 'run.emitted') return
        const { told, shown } = inPhase(context, event.emitted, phase)
        enqueue.assign({ shown })
        for (const each of told) enqueue.emit(each)
      }),
      takeRun: assign(({ context }, output: AgentOutput) => absorb(context, output)),
      takeSynthesis: assign(({ context }, output: AgentOutput) => ({
        ...absorb(context, output),
        answer: output.output,
      })),
      noteBroken: assign((_, { error, state }: { error: unknown; state: string }) =>
        brokenRun(errorDataOf(error), 'reasoning', state),
      ),
      noteAbort: assign((_, command: { reason?: string | undefined }) => abortedBy(command)),
      announceEnd: emit(({ context }) => finalChunk(context)),
    },
  }).createMachine({
    id: 'reasoning',
    context: ({ input }) => initialPhases(input),
    initial: 'Analysis',
    output: ({ event }) => event.output as AgentOutput,

    states: {
      Analysis: {
        invoke: {
          id: 'run',
          src: 'thinker',
          input: ({ context }) => firstQuestion(context, prompts.analysis),
          onDone: afterRun({ target: 'Hypothesis', actions: takeRun }),
          onError: brokenIn('Analysis'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'analysis' } } },
        },
      },

      Hypothesis: {
        invoke: {
          id: 'run',
          src: 'thinker',
          input: ({ context }) => ({ history: historyOf(context), prompt: prompts.hypothesis }),
          onDone: afterRun({ target: 'Evidence', actions: takeRun }),
          onError: brokenIn('Hypothesis'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'hypothesis' } } },
        },
      },

      Evidence: {
        invoke: {
          id: 'run',
          src: 'researcher',
          input: ({ context }) => ({ history: historyOf(context), prompt: prompts.evidence }),
          onDone: afterRun({ target: 'Synthesis', actions: takeRun }),
          onError: brokenIn('Evidence'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'evidence' } } },
        },
      },

      Synthesis: {
        invoke: {
          id: 'run',
          src: 'thinker',
          input: ({ context }) => ({
            history: historyOf(context),
            ...lastQuestion(prompts.synthesis, context.input, takesSchema),
          }),
          onDone: afterRun({ target: 'Complete', actions: takeSynthesis }),
          onError: brokenIn('Synthesis'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { phase: 'synthesis' } } },
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

const takeSynthesis = { type: 'takeSynthesis', params: outputOf } as const

/** The shape of the answer concerns the last phase alone: until then the model thinks in words. */
const lastQuestion = (prompt: string, { outputSchema }: AgentInput, takesSchema: boolean): AgentInput => {
  if (!outputSchema) return { prompt }
  if (takesSchema) return { prompt, outputSchema }
  return { prompt: `${prompt}\n\nAnswer with JSON of this schema alone: ${JSON.stringify(outputSchema)}` }
}
