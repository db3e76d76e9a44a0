/**
 * Perplexity as a value: search models, and those of others with a search.
 *
 * @module statewire/providers/perplexity
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { serverIn } from '../http/connectionOf.ts'
import { gatewayProfile } from '../openai-chat/hosted.ts'
import { type OpenAIResponsesProfile, openaiResponses } from '../openai-responses/index.ts'

// It ended its chat completions in September 2026, and keeps no responses.
const preset = {
  name: 'perplexity',
  protocol: openaiResponses,
  server: serverIn('PERPLEXITY_BASE_URL'),
  baseUrl: 'https://api.perplexity.ai/v1',
  keyVariable: 'PERPLEXITY_API_KEY',
  defaultModel: 'perplexity/sonar',
  profile: (model: string): OpenAIResponsesProfile => ({
    ...gatewayProfile(model),
    stateless: true,
    reasoningSummary: false,
  }),
}

/**
 * A model of Perplexity.
 *
 * @example const agent = new Agent(perplexity('perplexity/sonar'))
 */
export const perplexity = providerValue(preset, modelMaker(preset))
