import type { JsonObject } from '../messages/json.ts'
import type { ToolCallPart } from '../messages/messages.ts'
import { unknownOption } from '../messages/optionRules.ts'

/**
 * The further calls of the same run that an approval allows: every call of the tool, or those with the same arguments.
 */
export type Remember = 'tool' | 'arguments'

/** Options of an approval. */
export type ApprovalOptions = {
  /** Arguments to run with instead of the model's; the model learns of the change. */
  arguments?: JsonObject
  /**
   * Approves later calls of this run, too: all calls of this tool, or those with the same arguments. Calls that already
   * wait are not included.
   */
  remember?: Remember
} & AboutQuestion

/** The question that a decision is about; without it, the question that waits now. */
export type AboutQuestion = {
  /** The `question` of the pending call that was shown: a decision on another question is refused. */
  question?: string | undefined
}

/** The fields of a decision that approves or rejects, and of one that answers. */
const decisionFields = { approve: true, reason: true, arguments: true, remember: true, question: true }
const answerFields = { result: true, isError: true, question: true }

/** Says which field of a decision does not exist; undefined if all of them do. */
export const unknownField = (name: string, decision: object): string | undefined =>
  unknownOption(name, decision, 'result' in decision ? answerFields : decisionFields)

/** A person's decision on a call; with a reason, the model learns why it was rejected. */
export type Approval = boolean | ({ approve: boolean; reason?: string } & ApprovalOptions)

/** A decision on a pending call: an approval, or the result of an external tool. */
export type CallDecision = Approval | ({ result: unknown; isError?: boolean } & AboutQuestion)

/** Decides on a call that needs approval, or on one that is in doubt: then a yes runs it again. */
export type OnApproval = (call: ToolCallPart & { inDoubt?: true }) => Approval | Promise<Approval>
