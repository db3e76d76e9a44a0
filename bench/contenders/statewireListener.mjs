import { builtModule } from '../built.mjs'
import { agentOf } from './statewire.mjs'

/** The chats of pages: a listener for `node:http`. */
export const open = async (options) => {
  const { nodeListener, uiMessageHandler } = await import(builtModule('ui'))
  return { listener: nodeListener(uiMessageHandler(agentOf(options))) }
}
