import type { AnyActorRef, Snapshot } from 'xstate'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import type { AgentInput } from '../../machines/agent/events.ts'
import type { ChatResult, SendResult } from '../messages/result.ts'
import type { Clock } from '../model/clock.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { ChunkStream } from './ChunkStream.ts'
import type { Inspect } from './watching.ts'

/** What a run begins with: an input, or a stored snapshot with decisions on what it waits for. */
export type RunStart =
  | { input: AgentInput }
  | { snapshot: Snapshot<unknown>; decisions: Readonly<Record<string, CallDecision>> }

/** Shows a run to one reader, chunk by chunk. */
export type ChunkReader = {
  chunk(chunk: ChatResult): void
  /** The run is paused; the chunk shows what it waits for. */
  wait(chunk: ChatResult): void
  complete(result: SendResult): void
  fail(error: Error): void
}

/** What a run is made of. */
export type RunSetup<T, C> = {
  id: string
  machine: AgentMachine
  start: RunStart
  signal?: AbortSignal | undefined
  inspect?: Inspect | undefined
  clock?: Clock | undefined
  /** The name of the agent, or else of its orchestrator: in errors and in the inspector. */
  name?: string | undefined
  /** The actor this run belongs to: it shows up below it in the inspector. */
  parent?: AnyActorRef | undefined
  /** Whether the caller holds the run: it may read from the first chunk at any time, and continue after a wait. */
  isHeld: boolean
  readerOf(stream: ChunkStream<ChatResult<C>>): ChunkReader
  /** The result as it is given: of a typed run, with its value. */
  finish(result: SendResult): SendResult<T> | Promise<SendResult<T>>
}
