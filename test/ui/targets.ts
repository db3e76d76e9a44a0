import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { StoredRuns } from '../../src/durable/index.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

/** The backends of a handler: an agent in this process, or chats in a file. */
export const kinds = ['an agent', 'stored runs'] as const
export type Kind = (typeof kinds)[number]

export const target = async (
  kind: Kind,
  model: ChatModel,
  options: AgentOptions = {},
): Promise<Agent | StoredRuns> => {
  const agent = new Agent(model, options)
  return kind === 'an agent' ? agent : opened(storeFile(), { assistant: agent })
}
