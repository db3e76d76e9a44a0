/**
 * Agents for web pages and other clients, as handlers of `Request` and `Response`.
 *
 * @module statewire/ui
 */

export type { ChatHandlerOptions, HandlerOptions, Served } from './handlerOptions.ts'
export { type Handler, nodeListener } from './nodeListener.ts'
export { type OpenaiHandlerOptions, openaiHandler } from './openai/openaiHandler.ts'
export { type UiMessageHandlerOptions, uiMessageHandler } from './uiMessages/uiMessageHandler.ts'
