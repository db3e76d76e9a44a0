/**
 * Cohere as a value.
 *
 * @module statewire/providers/cohere
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { cohereProfile, cohere as protocol } from '../cohere/index.ts'
import { serverIn } from '../http/connectionOf.ts'
import { cohereModels } from '../models/vendors.ts'

const preset = {
  name: 'cohere',
  tables: [cohereModels],
  protocol,
  server: serverIn('CO_API_URL', '/v2'),
  baseUrl: 'https://api.cohere.com/v2',
  keyVariable: 'COHERE_API_KEY',
  defaultModel: 'command-a-plus-05-2026',
  profile: cohereProfile,
}

/**
 * A model of Cohere.
 *
 * @example const agent = new Agent(cohere('command-a-plus-05-2026'), { tools })
 */
export const cohere = providerValue(preset, modelMaker(preset))
