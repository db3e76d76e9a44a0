import type { Agent } from '../../agent/Agent.ts'
import type { Part } from '../../messages/messages.ts'
import type { ChatResult } from '../../messages/result.ts'

/** Shows an answer as it arrives. */
export type Piece = Pick<ChatResult, 'output' | 'metadata' | 'messages'>

/** A conversation, wherever it is kept. Answers throw their errors; the signal ends them. */
export type Talk = {
  /** Whether an open question is asked again next time. */
  readonly isKept: boolean
  answer(prompt: string | Part[], signal: AbortSignal): AsyncIterable<Piece>
  /** The answer that was running, or waiting, when its process ended. */
  unfinished(signal: AbortSignal): Promise<AsyncIterable<Piece> | undefined>
  /** Starts another conversation, and says what happened to this one. */
  clear(): Promise<string>
  /** Continues with another agent. */
  change(): Promise<void>
  close(): Promise<void>
}

/** Makes the agent that answers from now on. */
export type MakeAgent = () => Agent
