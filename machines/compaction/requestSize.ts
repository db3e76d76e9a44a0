import type { ChatMessage, Part } from '../../src/messages/messages.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { requestMessages, type StreamingState } from '../agent/streamingState.ts'
import { currentTools, specsOf } from '../tools/runTools.ts'

// How long a request is, in characters. Its tokens are not known before the provider has counted them.

/** The characters that an image or a document counts as: its tokens have nothing to do with its length. */
const charactersOfFile = 4800

const sizes = new WeakMap<ChatMessage, number>()

/** The length of a message in characters. */
export const sizeOf = (message: ChatMessage): number => {
  const known = sizes.get(message) ?? counted(message)
  sizes.set(message, known)
  return known
}

const counted = (message: ChatMessage): number => {
  const size = JSON.stringify({ ...message, parts: message.parts.map(withoutFiles) }).length
  const files = message.parts.reduce((sum, part) => sum + filesIn(part), 0)
  return size + files * charactersOfFile
}

const withoutFiles = (part: Part): Part => {
  if (part.type === 'data') return { ...part, data: '' }
  return part.type === 'toolResult' && part.parts ? { ...part, parts: [] } : part
}

const filesIn = (part: Part): number => {
  if (part.type === 'data') return 1
  return part.type === 'toolResult' ? (part.parts?.length ?? 0) : 0
}

export const charactersIn = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + sizeOf(message), 0)

const fixedSizes = new WeakMap<ReturnType<typeof currentTools>, number>()

/** The part of each request that no compaction shrinks: system prompt and tools. */
export const fixedCharacters = (config: ResolvedConfig, { options }: StreamingState): number => {
  const { system = '', skillList } = config
  const tools = currentTools(config.tools)
  const known = fixedSizes.get(tools) ?? JSON.stringify(specsOf(tools)).length
  fixedSizes.set(tools, known)
  return known + (options.system ?? system).length + skillList.length
}

export const requestCharacters = (config: ResolvedConfig, state: StreamingState): number =>
  charactersIn(requestMessages(state)) + fixedCharacters(config, state)
