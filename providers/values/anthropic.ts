/**
 * Anthropic as a value.
 *
 * @module statewire/providers/anthropic
 */

import { anthropicHeaders, anthropicProfile, anthropic as protocol } from '../anthropic/index.ts'
import { modelMaker, providerValue } from '../chatModels.ts'
import type { KeyHeader } from '../http/connection.ts'
import { serverIn } from '../http/connectionOf.ts'
import { anthropicModels } from '../models/anthropic.ts'
import { anthropicPrices } from '../models/priceLists.ts'

const keyHeader: KeyHeader = (key) => ({ 'x-api-key': key })

const preset = {
  name: 'anthropic',
  tables: [anthropicModels],
  priceList: anthropicPrices,
  protocol,
  server: serverIn('ANTHROPIC_BASE_URL', '/v1'),
  baseUrl: 'https://api.anthropic.com/v1',
  keyVariable: 'ANTHROPIC_API_KEY',
  keyHeader,
  headers: anthropicHeaders,
  defaultModel: 'claude-sonnet-5-5',
  profile: anthropicProfile,
}

/**
 * A model of Anthropic.
 *
 * @example const agent = new Agent(anthropic('claude-sonnet-5-5'), { tools })
 */
export const anthropic = providerValue(preset, modelMaker(preset))
