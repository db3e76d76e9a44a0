/**
 * Agents for web pages and other clients, as handlers of `Request` and `Response`.
 *
 * @module statewire/ui
 */

export { aguiHandler } from './agui/handler.ts'
export type { ChatHandlerOptions, HandlerOptions, Served } from './handlerOptions.ts'
export { type Handler, nodeListener } from './nodeListener.ts'
export { type OpenaiHandlerOptions, openaiHandler, type ResponseStore } from './openai/handler.ts'
export type { Page } from './page.ts'
export type { ErrorPlace, FinishedAnswer, ReportOptions } from './reports.ts'
export type { TurnOutcome } from './turn.ts'
export { type UiMessageHandlerOptions, uiMessageHandler } from './uiMessages/handler.ts'
export {
  type UiChunk,
  type UiChunkOf,
  type UiData,
  type UiFinishReason,
  type UiMessage,
  type UiMetadata,
  type UiTools,
  uiMessagesOf,
} from './uiMessages/messages.ts'
export {
  AgentChatTransport,
  type AgentChatTransportOptions,
  type SentMessages,
} from './uiMessages/transport.ts'
