import { type Actor, type AnyActorRef, createActor, type Snapshot } from 'xstate'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import type { AgentInput } from '../../machines/agent/events.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Part } from '../messages/messages.ts'
import type { ChatResult, SendResult } from '../messages/result.ts'
import type { Clock } from '../model/clock.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import type { ChunkStream } from './ChunkStream.ts'
import type { StartFrom } from './options.ts'
import { type ChunkReader, type DeepPartial, partialValues, validatedOutput } from './partialValues.ts'
import type { Inspect } from './watching.ts'

/** The start of a run: an input, or a stored snapshot with decisions on its pending calls. */
export type RunStart =
  | { input: AgentInput }
  | { snapshot: Snapshot<unknown>; decisions?: Readonly<Record<string, CallDecision>> }

/** Everything that the actor of a run is made of. */
type ActorSetup = {
  machine: AgentMachine
  start: RunStart
  inspect?: Inspect | undefined
  clock?: Clock | undefined
  /** The name of the agent, or else of its orchestrator: in errors and in the inspector. */
  name?: string | undefined
  /** The actor this run belongs to: it shows up below it in the inspector. */
  parent?: AnyActorRef | undefined
}

/** Everything that a run is made of. */
export type RunSetup<T, C> = ActorSetup &
  ResultForm<T, C> & {
    id: string
    signal?: AbortSignal | undefined
    /** True if the caller holds the run: it may read from the first chunk at any time, and continue after a wait. */
    isHeld: boolean
  }

/** The form in which a run gives its chunks and its result: text, or values of a schema. */
type ResultForm<T, C> = {
  readerOf(stream: ChunkStream<ChatResult<C>>): ChunkReader
  finish(result: SendResult): SendResult<T> | Promise<SendResult<T>>
}

/** The actor of a run, not yet started. */
export const createRunActor = (setup: ActorSetup): Actor<AgentMachine> => {
  const { machine, start, inspect, clock, name, parent } = setup
  return createActor(machine, {
    // A restored machine takes its data from the snapshot; only the types ask for an input then.
    input: 'input' in start ? start.input : {},
    ...('snapshot' in start && { snapshot: start.snapshot }),
    ...(inspect && { inspect }),
    ...(clock && { clock }),
    ...(parent && { parent }),
    ...(name !== undefined && { id: name }),
  })
}

/** Results as text. */
export const textForm: ResultForm<string, string> = {
  readerOf: (stream) => ({
    chunk: (chunk) => stream.push(chunk),
    wait: (chunk) => {
      stream.push(chunk)
      stream.finish()
    },
    complete: () => stream.finish(),
    fail: (error) => stream.fail(error),
  }),
  finish: (result) => result,
}

/** Results as values of a schema. */
export const typedForm = <T>(schema: CompiledSchema<T>): ResultForm<T, DeepPartial<T>> => ({
  readerOf: (stream) => partialValues(stream, schema),
  finish: async (result) => ({ ...result, output: await validatedOutput(result, schema) }),
})

/** Says whether a run starts from a stored snapshot. */
export const isStored = (from: StartFrom): from is Exclude<StartFrom, string | Part[]> => isJsonObject(from)

/** The facts about a stored run that are needed before its machine reads it. */
export const storedRun = (snapshot: unknown): { id: string | undefined; isTyped: boolean } => {
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  if (!isJsonObject(context)) return { id: undefined, isTyped: false }
  // A chart of phases keeps its input, a single run its options.
  const { options, input } = context
  const asked = isJsonObject(options) ? options : isJsonObject(input) ? input : {}
  const id = typeof asked.id === 'string' && asked.id !== '' ? asked.id : undefined
  return { id, isTyped: isJsonObject(asked.outputSchema) }
}
