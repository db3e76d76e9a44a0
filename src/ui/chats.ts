import type { ChatMessage, Part } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { ClientTool } from './clientTools.ts'
import type { TurnEvent } from './turnEvents.ts'

/** What a client asks. */
export type Question = {
  prompt: Part[]
  /** The conversation before it, as the client sends it. */
  history: ChatMessage[]
  /** The texts of the prompts in it. */
  asked: string[]
  /** Whether it takes the place of an earlier prompt, or of an earlier answer to it. */
  intent: 'new' | 'edit' | 'regenerate'
}

/** What goes with a turn beside the question. */
export type TurnContext = { context: unknown; tools?: readonly ClientTool[] }

/** Decisions on calls that wait, by id. */
export type Decisions = Record<string, CallDecision>

/** The receiver of a turn. */
export type Audience = {
  hear: (event: TurnEvent) => void
  /** Waits until it has caught up, for callers that can wait. */
  ready: () => Promise<void>
  /** Aborted when they have left. */
  signal: AbortSignal
}

/** An answer that is being given. */
export type Turn = { follow(audience: Audience): Promise<void> }

/** Where the conversations of a handler live. */
export type Chats = {
  ask(chatId: string, question: Question, context: TurnContext): Promise<Turn>
  /** Continues an answer that waits; `decide` gets the calls. Refused if nothing is decided. */
  resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    context: TurnContext,
  ): Promise<Turn>
  /** The answer that is being given, or that waits, from its beginning. */
  current(chatId: string): Promise<Turn | undefined>
  /** Ends the answer that is being given. */
  stop(chatId: string): Promise<void>
  /** The conversation up to the question that is being answered; undefined where it is the client's to keep. */
  history(chatId: string): Promise<ChatMessage[] | undefined>
}
