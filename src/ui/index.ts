/**
 * Agents for web pages and other clients, as handlers of `Request` and `Response`.
 *
 * @module statewire/ui
 */

export { aguiHandler } from './agui/aguiHandler.ts'
export type { ChatHandlerOptions, HandlerOptions, Served } from './handlerOptions.ts'
export { type Handler, nodeListener } from './nodeListener.ts'
export { type OpenaiHandlerOptions, openaiHandler } from './openai/openaiHandler.ts'
export {
  AgentChatTransport,
  type AgentChatTransportOptions,
  type SentMessages,
} from './uiMessages/AgentChatTransport.ts'
export type { UiChunk, UiChunkOf, UiFinishReason } from './uiMessages/uiChunks.ts'
export { type UiMessageHandlerOptions, uiMessageHandler } from './uiMessages/uiMessageHandler.ts'
