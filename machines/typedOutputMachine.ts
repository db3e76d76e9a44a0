import { assign, emit, enqueueActions, forwardTo, fromPromise, setup } from 'xstate'
import { errorDataOf } from '../src/messages/errors.ts'
import { type ChatMessage, textOf, toolCallsOf, toolResultsOf } from '../src/messages/messages.ts'
import { type ReadAnswer, readAnswer, type WireSchema } from '../src/tools/typedAnswer.ts'
import type { AgentMachine } from './agentMachine.ts'
import { abortedBy, abortedOutput, completeOutput, failedOutput, finalChunk } from './agentOutput.ts'
import { absorb, brokenRun, type CompositeRun, historyOf, initialComposite } from './compositeRun.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from './events.ts'
import { afterRun, brokenIn, isRunEnd, outputOf, phaseCommands, runGuards, takeRun } from './phase.ts'
import { chunkOf, restartChunk } from './receiveDeltas.ts'
import type { RunEmitted } from './reportToParent.ts'
import { returnResultName, type TypedOutputStrategy } from './typedOutput.ts'

type TypedOutputState = CompositeRun & {
  /** The answer to be checked, and after the check its JSON. */
  answer: string
  /** What was wrong with the last answer, to be told to the model. */
  problem: string
  corrections: number
}

/** What the chart of typed output is made of. */
export type TypedOutputParts = {
  strategy: TypedOutputStrategy
  schema: WireSchema
  /** The run that answers. */
  run: AgentMachine
  /** The run that puts what was found into the schema's shape: the second of two phases. */
  formatter: AgentMachine
}

/**
 * Asks for an answer that fits a schema. The runs themselves are lifecycle machines; this chart chooses what they are
 * asked, checks what they say, sends a misfit back once, and keeps text out of a stream that is to be JSON.
 */
export const createTypedOutputMachine = ({ strategy, schema, run, formatter }: TypedOutputParts) =>
  setup({
    types: {
      context: {} as TypedOutputState,
      input: {} as AgentInput,
      output: {} as AgentOutput,
      events: {} as AgentCommand | RunEmitted,
      emitted: {} as AgentEmitted,
    },
    actors: {
      run,
      formatter,
      check: answerCheck(schema),
    },
    guards: {
      ...runGuards,
      hasTwoPhases: () => strategy === 'twoPhases',
      isFit: (_: unknown, { problem }: { problem: string }) => problem === '',
      mayCorrect: ({ context }) => context.corrections === 0,
    },
    actions: {
      forward: forwardTo('run'),
      relay: enqueueActions(({ event, enqueue }, { isSuppressed }: { isSuppressed: boolean }) => {
        if (event.type !== 'run.emitted' || !isRelayed(event.emitted, isSuppressed && strategy)) return
        enqueue.emit(event.emitted)
        // Words before a call were shown because they might have been the answer.
        if (strategy === 'native' && isTalk(event.emitted)) enqueue.emit(restartChunk())
      }),
      takeRun: assign(({ context }, output: AgentOutput) => ({
        ...absorb(context, output),
        answer: answerOf(output),
      })),
      takeAnswer: enqueueActions(({ context, enqueue }, output: AgentOutput) => {
        const text = strategy === 'native' ? '' : output.output
        enqueue.assign({
          ...absorb(context, strategy === 'twoPhases' ? withoutTextAnswer(output) : output),
          answer: answerOf(output),
        })
        if (text === '') return
        const shown = { suppressedText: text }
        enqueue.assign(({ context: { metadata } }) => ({ metadata: { ...metadata, ...shown } }))
        enqueue.emit(chunkOf(output.id, '', [], shown))
      }),
      noteBroken: assign((_, { error, state }: { error: unknown; state: string }) =>
        brokenRun(errorDataOf(error), 'typed-output', state),
      ),
      takeJson: assign((_, { json }: { json: string }) => ({ answer: json, finishReason: 'stop' as const })),
      noteProblem: assign(({ context }, { problem }: { problem: string }) => ({
        problem,
        corrections: context.corrections + 1,
      })),
      announceRestart: enqueueActions(({ enqueue }) => {
        enqueue.emit({ type: 'retry', attempt: 1, delayMs: 0, restart: true, error: null })
        enqueue.emit(restartChunk())
      }),
      noteMisfit: assign(({ context }, { problem }: { problem: string }) => ({
        finishReason: 'error' as const,
        failure: {
          name: 'OutputValidationError' as const,
          message: `The answer does not fit the schema: ${problem}`,
          rawOutput: context.answer,
        },
      })),
      noteAbort: assign((_, command: { reason?: string | undefined }) => abortedBy(command)),
      // Other answers were streamed as they came; this one is shown here, once, in the shape they have.
      showJson: enqueueActions(({ context: { responseId, answer }, enqueue }) => {
        const json = schema.isWrapped ? `{"value":${answer}}` : answer
        if (strategy === 'returnResult') enqueue.emit(chunkOf(responseId, json, [], {}))
      }),
      announceEnd: emit(({ context }) => finalChunk(context)),
    },
  }).createMachine({
    id: 'typedOutput',
    context: ({ input }) => ({ ...initialComposite(input), answer: '', problem: '', corrections: 0 }),
    initial: 'Answering',
    output: ({ event }) => event.output as AgentOutput,

    states: {
      Answering: {
        invoke: {
          id: 'run',
          src: 'run',
          input: ({ context }) => ({
            ...questionOf(context),
            ...(strategy === 'native' && { outputSchema: schema.jsonSchema }),
          }),
          onDone: afterRun(
            { guard: 'hasTwoPhases', target: 'Formatting', actions: takeAnswer },
            { target: 'Checking', actions: takeAnswer },
          ),
          onError: brokenIn('Answering'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { isSuppressed: true } } },
        },
      },

      Formatting: {
        invoke: {
          id: 'run',
          src: 'formatter',
          input: ({ context }) => ({
            ...formatQuestionOf(context),
            outputSchema: schema.jsonSchema,
          }),
          onDone: afterRun({ target: 'Checking', actions: takeRun }),
          onError: brokenIn('Formatting'),
        },
        on: {
          ...phaseCommands,
          'run.emitted': { actions: { type: 'relay', params: { isSuppressed: false } } },
        },
      },

      Checking: {
        invoke: {
          id: 'check',
          src: 'check',
          input: ({ context }) => ({ answer: context.answer }),
          onDone: [
            {
              guard: { type: 'isFit', params: ({ event }) => event.output },
              target: 'Complete',
              actions: { type: 'takeJson', params: ({ event }) => event.output },
            },
            {
              guard: 'mayCorrect',
              target: 'Correcting',
              actions: [{ type: 'noteProblem', params: ({ event }) => event.output }, 'announceRestart'],
            },
            { target: 'Failed', actions: { type: 'noteMisfit', params: ({ event }) => event.output } },
          ],
          onError: brokenIn('Checking'),
        },
        on: {
          abort: { target: 'Aborted', actions: { type: 'noteAbort', params: ({ event }) => event } },
        },
      },

      Correcting: {
        always: [{ guard: 'hasTwoPhases', target: 'Formatting' }, { target: 'Answering' }],
      },

      Complete: {
        type: 'final',
        entry: ['showJson', 'announceEnd'],
        output: ({ context }) => ({ ...completeOutput(context), output: context.answer }),
      },
      Failed: { type: 'final', entry: 'announceEnd', output: ({ context }) => failedOutput(context) },
      Aborted: { type: 'final', entry: 'announceEnd', output: ({ context }) => abortedOutput(context) },
    },
  })

const takeAnswer = { type: 'takeAnswer', params: outputOf } as const

const answerCheck = (schema: WireSchema) =>
  fromPromise<ReadAnswer, { answer: string }>(({ input }) => readAnswer(input.answer, schema))

/** The user's question, or after a misfit what is wrong with the answer. */
const questionOf = (state: TypedOutputState): AgentInput =>
  state.problem === '' ? state.input : { prompt: correctionOf(state.problem), history: historyOf(state) }

/** The second phase continues from the tools' results; only a correction adds a message. */
const formatQuestionOf = (state: TypedOutputState): AgentInput => ({
  history: historyOf(state),
  ...(state.problem !== '' && { prompt: correctionOf(state.problem) }),
})

const correctionOf = (problem: string): string =>
  `Your answer does not fit the schema that was asked for: ${problem.replace(/\.?$/, '.')} Answer again, with all of it and in that shape.`

/** Whether the listeners of the whole may see what a run emitted. */
const isRelayed = (emitted: AgentEmitted, suppressedFor: TypedOutputStrategy | false): boolean => {
  if (emitted.type === 'message') return suppressedFor !== 'twoPhases' || !isTextAnswer(emitted.message)
  if (emitted.type !== 'chunk') return true
  if (isRunEnd(emitted)) return false
  if (suppressedFor === 'twoPhases' && emitted.messages.some(isTextAnswer)) return false
  return emitted.output === '' || suppressedFor === false || suppressedFor === 'native'
}

/** Text beside tool calls, which is never the answer. */
const isTalk = (emitted: AgentEmitted): boolean =>
  emitted.type === 'message' && toolCallsOf(emitted.message).length > 0 && textOf(emitted.message) !== ''

/** The model's last word of a phase whose text is not wanted. */
const isTextAnswer = (message: ChatMessage): boolean =>
  message.role === 'model' && toolCallsOf(message).length === 0

const withoutTextAnswer = (output: AgentOutput): AgentOutput => ({
  ...output,
  messages: output.messages.filter((message) => !isTextAnswer(message)),
})

/** What a run answered: what the tool took, or else the last text. */
const answerOf = ({ messages }: AgentOutput): string => {
  const returned = messages
    .flatMap(toolResultsOf)
    .findLast(({ name, isError }) => name === returnResultName && !isError)
  if (returned) return returned.result
  const last = messages.findLast(({ role }) => role === 'model')
  return last ? textOf(last) : ''
}
