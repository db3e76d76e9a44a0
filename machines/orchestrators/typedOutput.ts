import { type AnyActorRef, fromPromise } from 'xstate'
import { ConfigurationError, ToolExecutionError } from '../../src/messages/errors.ts'
import {
  answerTextOf,
  type ChatMessage,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { addMetadata } from '../../src/messages/metadata.ts'
import { defaultToolTimeoutMs, type Tool, toolsByName, withoutSources } from '../../src/tools/tool.ts'
import { type ReadAnswer, readAnswer, type WireSchema } from '../../src/tools/typedAnswer.ts'
import type { AgentMachineConfig } from '../agent/agentConfig.ts'
import { chunkOf, restartChunk } from '../agent/announcements.ts'
import type { AgentEmitted, AgentInput, AgentOutput } from '../agent/events.ts'
import { valuesOf } from '../logic/runEnvironment.ts'
import type { Orchestrator, OrchestratorParts } from './orchestrator.ts'
import { createPhasedMachine, type PhaseChange, type PhasedOptions, type RunPhase } from './phasedMachine.ts'
import { historyOf, type PhasedRun } from './phasedRun.ts'

const returnResultName = 'return_result'

/**
 * The way in which a model is made to answer in a shape.
 * - `native`: the API takes the schema.
 * - `twoPhases`: the API takes a schema or tools, not both: first a run with tools, then one with the schema.
 * - `returnResult`: the API takes no schema: a tool takes the answer as its arguments.
 */
export type TypedOutputStrategy = 'native' | 'twoPhases' | 'returnResult'

/** The strategy for an agent: what its model can do decides, and whether there are tools. */
export const strategyFor = ({ model, tools = [] }: AgentMachineConfig): TypedOutputStrategy => {
  const { nativeSchema, schemaWithTools } = model.profile
  if (!nativeSchema) return 'returnResult'
  return tools.length > 0 && !schemaWithTools ? 'twoPhases' : 'native'
}

/**
 * The orchestrator of `sendFor`: chosen whenever a schema is asked for. One machine serves all schemas: the JSON Schema
 * comes with the input, what validates with the values of the run.
 */
export const typedOutputOrchestrator: Orchestrator = {
  providerHint: 'typed-output',
  create: (parts) => createPhasedMachine(typedOutputPhases(parts)),
}

type TypedData = {
  /** The problem of the last answer, as the model sees it. */
  problem: string
  corrections: number
}

type TypedState = PhasedRun & TypedData

/**
 * Asks for an answer that fits a schema. These phases choose what the runs are asked, check what they say, send a misfit
 * back once, and keep text out of a stream that is to be JSON.
 */
export const typedOutputPhases = ({ config, lifecycle }: OrchestratorParts): PhasedOptions<TypedData> => {
  const { tools = [] } = config
  if (toolsByName(withoutSources(tools)).has(returnResultName)) {
    throw new ConfigurationError(
      `A tool cannot be named "${returnResultName}" where typed output is asked for: rename it.`,
    )
  }
  const strategy = strategyFor(config)
  const isInTwo = strategy === 'twoPhases'
  const checking = { to: 'Checking', take: 'takeAnswer' }

  const answering: RunPhase<TypedState> = {
    description: isInTwo
      ? 'Finds out what the answer needs, in words.'
      : 'Answers in the shape of the schema.',
    run:
      strategy === 'returnResult'
        ? lifecycle({
            tools: [...tools, returnResult],
            settings: { toolChoice: 'required', ...config.settings },
          })
        : lifecycle(),
    // The words of the first of two phases are not the answer.
    input: (state) =>
      isInTwo ? { ...withoutShape(questionOf(state)), unasked: ['answer'] } : questionOf(state),
    relay: relays[strategy],
    next: [isInTwo ? { to: 'Formatting', take: 'takeFindings' } : checking],
  }

  const formatting: RunPhase<TypedState> = {
    description: 'Puts what was found into the shape of the schema, without tools.',
    run: lifecycle({ tools: [] }),
    // It continues from the tools' results; only a correction adds a message.
    input: (state) => ({
      ...shapeOf(state.input),
      history: historyOf(state),
      ...(state.problem !== '' && { prompt: correctionOf(state.problem) }),
    }),
    next: [checking],
  }

  return {
    id: 'typed-output',
    data: { problem: '', corrections: 0 },
    phases: {
      Answering: answering,
      ...(isInTwo && { Formatting: formatting }),
      Checking: {
        description: 'Checks the answer against the schema. One that does not fit may be corrected once.',
        step: answerCheck,
        input: ({ answer }) => ({ answer }),
        next: [
          { when: 'isFit', to: 'Complete', take: 'takeJson' },
          { when: 'mayCorrect', to: isInTwo ? 'Formatting' : 'Answering', take: 'noteProblem' },
          { to: 'Failed', take: 'noteMisfit' },
        ],
      },
    },
    guards: {
      isFit: (_, { problem }: ReadAnswer) => problem === '',
      mayCorrect: ({ corrections }) => corrections < 1,
    },
    takes: {
      takeAnswer: (state, output: AgentOutput) => {
        if (strategy !== 'returnResult') return { change: { answer: lastTextOf(output) } }
        return suppressed(state, output, { answer: finalAnswerOf(output) })
      },
      // The text of the first of two phases is not the answer, and not part of the conversation.
      takeFindings: (state, output: AgentOutput) => {
        const last = output.messages.at(-1)
        const messages = state.messages.filter((message) => message !== last)
        return suppressed(state, output, { messages })
      },
      takeJson: ({ totals }, { json, asked }: ReadAnswer) => ({
        change: { answer: json, totals: { ...totals, finishReason: 'stop' } },
        // Other answers were streamed as they came; this one is shown here, once, in the shape they have.
        emitted: strategy === 'returnResult' ? [chunkOf(totals.responseId, asked, [], {})] : [],
      }),
      noteProblem: ({ corrections }, { problem }: ReadAnswer) => ({
        change: { problem, corrections: corrections + 1 },
        emitted: [{ type: 'retry', attempt: 1, delayMs: 0, restart: true, error: null }, restartChunk()],
      }),
      noteMisfit: ({ answer, totals }, { problem }: ReadAnswer) => ({
        change: {
          totals: { ...totals, finishReason: 'error' },
          failure: {
            name: 'OutputValidationError',
            message: `The answer does not fit the schema: ${problem}`,
            rawOutput: answer ?? '',
          },
        },
      }),
    },
  }
}

const answerCheck = fromPromise<ReadAnswer, { answer: string }>(async ({ input, self }) => {
  const { value, ...read } = await readAnswer(input.answer, schemaOf(valuesOf(self).answerSchema))
  // What the schema makes of the answer need not be JSON, so it is not part of what is stored.
  if (self._parent && read.problem === '') validated.set(self._parent, { json: read.json, value })
  return read
})

/** The values of answers that were found to fit, by the actor of the whole. */
const validated = new WeakMap<AnyActorRef, { json: string; value: unknown }>()

/** The value that the schema has made of an answer; undefined if the answer was not checked here. */
export const validatedAnswer = (self: AnyActorRef, json: string): { value: unknown } | undefined => {
  const found = validated.get(self)
  return found?.json === json ? found : undefined
}

/**
 * Takes the answer as its arguments: checking them is all it does. An answer that does not fit is an error result, and
 * the run continues.
 */
const returnResult: Tool = {
  name: returnResultName,
  description: 'Gives the final answer. Call it once, when you know everything that you need.',
  // What it takes is what the run is asked for.
  inputSchema: null,
  validate: (value) => ({ ok: true, value }),
  execute: async (args, { self }) => {
    const answer = JSON.stringify(args)
    const { problem } = await readAnswer(answer, schemaOf(valuesOf(self).answerSchema))
    if (problem !== '') throw new ToolExecutionError(`The answer does not fit the schema: ${problem}`)
    return answer
  },
  needsApproval: false,
  timeoutMs: defaultToolTimeoutMs,
  endsRun: true,
  onInterrupted: 'rerun',
  maxResult: Number.POSITIVE_INFINITY,
  repeatable: false,
  isAgent: false,
}

const schemaOf = (schema: WireSchema | undefined): WireSchema => {
  if (!schema)
    throw new ConfigurationError(
      'There is no schema for the typed answer: ask with sendFor or agent.machineFor(schema), and resume a run with the schema that it was asked for.',
    )
  return schema
}

const shapeOf = ({ outputSchema }: AgentInput): AgentInput => (outputSchema ? { outputSchema } : {})

const withoutShape = ({ outputSchema: _, ...input }: AgentInput): AgentInput => input

/** The user's question, or after a misfit what is wrong with the answer. */
const questionOf = (state: TypedState): AgentInput =>
  state.problem === ''
    ? state.input
    : { ...shapeOf(state.input), prompt: correctionOf(state.problem), history: historyOf(state) }

const correctionOf = (problem: string): string =>
  `Your answer does not fit the schema that was asked for: ${problem.replace(/\.?$/, '.')} Answer again, in that shape, with the whole answer.`

/**
 * The emissions of the run that answers, as the listeners of the whole get them: its text only where that is the
 * answer.
 */
const relays: Record<TypedOutputStrategy, (emitted: AgentEmitted) => readonly AgentEmitted[]> = {
  // Words before a call were shown because they might have been the answer.
  native: (emitted) =>
    isTextBesideCalls(emitted) || isCommentary(emitted) ? [emitted, restartChunk()] : [emitted],
  twoPhases: (emitted) => (hasText(emitted) || isLastWord(emitted) ? [] : [emitted]),
  returnResult: (emitted) => (hasText(emitted) ? [] : [emitted]),
}

const hasText = (emitted: AgentEmitted): boolean => emitted.type === 'chunk' && emitted.output !== ''

/** The end of what the model said before its answer. */
const isCommentary = (emitted: AgentEmitted): boolean =>
  emitted.type === 'chunk' && emitted.metadata.commentary !== undefined

/** Text beside tool calls, which is never the answer. */
const isTextBesideCalls = (emitted: AgentEmitted): boolean =>
  emitted.type === 'message' && toolCallsOf(emitted.message).length > 0 && textOf(emitted.message) !== ''

/** The end of a phase whose text is not wanted. */
const isLastWord = (emitted: AgentEmitted): boolean =>
  (emitted.type === 'message' && isTextAnswer(emitted.message)) ||
  (emitted.type === 'chunk' && emitted.messages.some(isTextAnswer))

const isTextAnswer = (message: ChatMessage): boolean =>
  message.role === 'model' && toolCallsOf(message).length === 0

/** Text that was kept out of the stream is shown as metadata. */
const suppressed = (
  { totals }: TypedState,
  { id, output }: AgentOutput,
  change: Partial<TypedState>,
): PhaseChange<TypedState> => {
  if (output === '') return { change }
  const shown = { suppressedText: output }
  return {
    change: { ...change, totals: { ...totals, metadata: addMetadata(totals.metadata, shown) } },
    emitted: [chunkOf(id, '', [], shown)],
  }
}

/** The answer of a run that has the tool for it: what the tool took, or else its last message. */
const finalAnswerOf = (output: AgentOutput): string => {
  const returned = output.messages
    .flatMap(toolResultsOf)
    .findLast(({ name, isError }) => name === returnResultName && !isError)
  return returned?.result ?? lastTextOf(output)
}

/** The text of the last message, which is the model's. A tool of a source may have any name, and answers nothing. */
const lastTextOf = ({ messages }: AgentOutput): string => messages.slice(-1).map(answerTextOf).join('')
