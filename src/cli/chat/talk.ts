import type { Agent } from '../../agent/Agent.ts'
import type { Part } from '../../messages/messages.ts'
import type { ChatResult } from '../../messages/result.ts'

/** What is shown of an answer as it comes. */
export type Piece = Pick<ChatResult, 'output' | 'metadata' | 'messages'>

/** A conversation, wherever it is kept. Answers throw their errors; the signal ends them. */
export type Talk = {
  /** Whether what nobody decided on is asked again next time. */
  readonly isKept: boolean
  answer(prompt: string | Part[], signal: AbortSignal): AsyncIterable<Piece>
  /** The answer that was being given, or waited for somebody, when its process ended. */
  unfinished(signal: AbortSignal): Promise<AsyncIterable<Piece> | undefined>
  /** Begins another conversation, and says what became of this one. */
  clear(): Promise<string>
  /** Goes on with another agent. */
  change(): Promise<void>
  close(): Promise<void>
}

/** Makes the agent that answers from now on. */
export type MakeAgent = () => Agent
