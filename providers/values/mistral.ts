/**
 * Mistral as a value.
 *
 * @module statewire/providers/mistral
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { serverIn } from '../http/connectionOf.ts'
import { mistralProfile, mistral as protocol } from '../mistral/index.ts'
import { mistralModels } from '../models/mistral.ts'
import { mistralPrices } from '../models/priceLists.ts'

const preset = {
  name: 'mistral',
  tables: [mistralModels],
  priceList: mistralPrices,
  protocol,
  server: serverIn('MISTRAL_BASE_URL'),
  baseUrl: 'https://api.mistral.ai/v1',
  keyVariable: 'MISTRAL_API_KEY',
  defaultModel: 'mistral-small-latest',
  profile: mistralProfile,
}

/**
 * A model of Mistral.
 *
 * @example const agent = new Agent(mistral('mistral-small-latest'), { tools })
 */
export const mistral = providerValue(preset, modelMaker(preset))
