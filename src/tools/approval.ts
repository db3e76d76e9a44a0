import type { JsonObject } from '../messages/json.ts'
import type { ToolCallPart } from '../messages/messages.ts'

/** What an approval allows beyond the one call, in the same run: every call of the tool, or those with the same arguments. */
export type Remember = 'tool' | 'arguments'

/** What goes with a yes. */
export type ApprovalOptions = {
  /** Arguments to run with instead of the model's; the model is told. */
  arguments?: JsonObject
  /** Also approves later calls of this run: all of this tool, or those with the same arguments. */
  remember?: Remember
}

/** What a person says about a call; with a reason, the model learns why it was rejected. */
export type Approval = boolean | ({ approve: boolean; reason?: string } & ApprovalOptions)

/** What is said about a call that waits: an approval, or the result of an external tool. */
export type CallDecision = Approval | { result: unknown; isError?: boolean }

/** Decides on a call that needs approval, or on one that is in doubt: then a yes runs it again. */
export type OnApproval = (call: ToolCallPart & { inDoubt?: true }) => Approval | Promise<Approval>
