/**
 * Servers that speak OpenAI's chat completions, as a value: those with a name here, and any other by its address.
 *
 * @module statewire/providers/compatible
 */

import { ConfigurationError } from '../../src/messages/errors.ts'
import { nearest } from '../../src/messages/optionNames.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { chatHosts, chatProfileAt } from '../chatHosts.ts'
import { modelMaker, providerValue } from '../chatModels.ts'
import { priceLists } from '../models/priceLists.ts'
import { type OpenAIChatProfile, openaiChat } from '../openai-chat/index.ts'
import type { ConnectionOptions } from '../provider.ts'

const preset = {
  name: 'openai-compatible',
  protocol: openaiChat,
  baseUrl: '{baseUrl}',
  // The models of such a server are not known here.
  defaultModel: '',
  profile: (model: string, _: boolean, url: string): OpenAIChatProfile => chatProfileAt(url, model),
}

/**
 * A model of any server that speaks chat completions, by its `baseUrl`.
 *
 * @example const agent = new Agent(compatible('my-model', { baseUrl: 'http://localhost:8000/v1' }))
 */
export const compatible = providerValue(preset, modelMaker(preset))

/**
 * A model of a host of chat completions that has a name: `groq`, `openrouter`, `together`, `vllm` and the like.
 *
 * @example const agent = new Agent(hosted('groq', 'openai/gpt-oss-120b'), { tools })
 */
export const hosted = (name: string, model?: string, options?: ConnectionOptions): ChatModel => {
  const host = chatHosts.find((each) => each.name === name || each.aliases?.includes(name))
  if (!host) {
    const names = chatHosts.flatMap((each) => [each.name, ...(each.aliases ?? [])])
    const meant = nearest(name, names, 2)
    throw new ConfigurationError(
      `There is no host "${name.slice(0, 100)}". ${meant ? `Did you mean "${meant}"? ` : ''}Known hosts: ${chatHosts.map((each) => each.name).join(', ')}.`,
    )
  }
  const own = { ...host, protocol: openaiChat, priceList: priceLists.get(host.name) }
  return providerValue(own, modelMaker(own))(model, options)
}
