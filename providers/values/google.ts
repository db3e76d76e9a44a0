/**
 * Google's Gemini as a value.
 *
 * @module statewire/providers/google
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { geminiProfile, google as protocol } from '../google/index.ts'
import type { KeyHeader } from '../http/connection.ts'
import { serverIn } from '../http/connectionOf.ts'
import { googleModels } from '../models/google.ts'
import { googlePrices } from '../models/priceLists.ts'

const keyHeader: KeyHeader = (key) => ({ 'x-goog-api-key': key })

const preset = {
  name: 'google',
  tables: [googleModels],
  priceList: googlePrices,
  protocol,
  server: serverIn('GOOGLE_GEMINI_BASE_URL', '/v1beta'),
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keyVariable: 'GEMINI_API_KEY',
  keyHeader,
  defaultModel: 'gemini-3.8-flash',
  profile: geminiProfile,
}

/**
 * A model of Google's Gemini API.
 *
 * @example const agent = new Agent(google('gemini-3.8-flash'), { tools })
 */
export const google = providerValue(preset, modelMaker(preset))
