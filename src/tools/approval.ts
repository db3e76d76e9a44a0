import type { JsonObject } from '../messages/json.ts'
import type { ToolCallPart } from '../messages/messages.ts'

/** The calls that an approval allows beyond the one, in the same run: every call of the tool, or those with the same arguments. */
export type Remember = 'tool' | 'arguments'

/** Options of an approval. */
export type ApprovalOptions = {
  /** Arguments to run with instead of the model's; the model learns of the change. */
  arguments?: JsonObject
  /** Approves later calls of this run, too: all of this tool, or those with the same arguments. Not those that wait already. */
  remember?: Remember
} & AboutQuestion

/** The question that a decision is about; without it, the one that waits now. */
export type AboutQuestion = {
  /** The `question` of the pending call that was shown: a decision on another question is refused. */
  question?: string
}

/** A person's decision on a call; with a reason, the model learns why it was rejected. */
export type Approval = boolean | ({ approve: boolean; reason?: string } & ApprovalOptions)

/** A decision on a pending call: an approval, or the result of an external tool. */
export type CallDecision = Approval | ({ result: unknown; isError?: boolean } & AboutQuestion)

/** Decides on a call that needs approval, or on one that is in doubt: then a yes runs it again. */
export type OnApproval = (call: ToolCallPart & { inDoubt?: true }) => Approval | Promise<Approval>
