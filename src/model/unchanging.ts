import type { ChatMessage } from '../messages/messages.ts'
import type { ToolSpec } from './chatModel.ts'

/** The messages, parts and tools of runs: unlike those that a caller gives to a model itself, they never change. */
const unchanging = new WeakSet<object>()

/** Notes that a message or a tool never changes, so that what is made of it can be kept with it. */
export const neverChanges = (each: ChatMessage | ToolSpec): void => {
  unchanging.add(each)
  if ('parts' in each) for (const part of each.parts) unchanging.add(part)
}

/** Says whether an object is known never to change. */
export const isUnchanging = (object: object): boolean => unchanging.has(object)
