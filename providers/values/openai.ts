/**
 * OpenAI as a value: its models over Responses, or over chat completions where the model has no need of more.
 *
 * @module statewire/providers/openai
 */

import { providerValue } from '../chatModels.ts'
import { byModel } from '../clouds/bothProtocols.ts'
import { serverIn } from '../http/connectionOf.ts'
import { openaiModels } from '../models/openai.ts'
import { openaiPrices } from '../models/priceLists.ts'

const host = {
  name: 'openai',
  tables: [openaiModels],
  priceList: openaiPrices,
  server: serverIn('OPENAI_BASE_URL'),
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  defaultModel: 'gpt-6-luna',
}

/**
 * A model of OpenAI. Another server is asked over chat completions.
 *
 * @example const agent = new Agent(openai('gpt-6-luna'), { tools })
 */
export const openai = providerValue(host, byModel(host))
