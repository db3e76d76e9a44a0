/**
 * xAI as a value.
 *
 * @module statewire/providers/xai
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { recover } from '../clouds/bothProtocols.ts'
import { serverIn } from '../http/connectionOf.ts'
import { factsOf } from '../models/modelFacts.ts'
import { xaiPrices } from '../models/priceLists.ts'
import { xaiModels } from '../models/vendors.ts'
import {
  type OpenAIResponsesProfile,
  openaiResponses,
  responsesProfileOf,
} from '../openai-responses/index.ts'

// Its chat completions are deprecated. It takes the system prompt as a message.
const preset = {
  name: 'xai',
  tables: [xaiModels],
  priceList: xaiPrices,
  protocol: openaiResponses,
  server: serverIn('XAI_BASE_URL'),
  baseUrl: 'https://api.x.ai/v1',
  keyVariable: 'XAI_API_KEY',
  defaultModel: 'grok-4.7',
  profile: (model: string): OpenAIResponsesProfile => ({
    ...responsesProfileOf(factsOf(xaiModels, model)),
    systemAsMessage: true,
    promptCache: 'key',
  }),
  recover,
}

/**
 * A model of xAI.
 *
 * @example const agent = new Agent(xai('grok-4.7'), { tools })
 */
export const xai = providerValue(preset, modelMaker(preset))
