import type { ToolCallPart } from '../messages/messages.ts'

/** What a person says about a call; with a reason, the model learns why it was rejected. */
export type Approval = boolean | { approve: boolean; reason?: string }

/** Decides on a call that needs approval. */
export type OnApproval = (call: ToolCallPart) => Approval | Promise<Approval>
