/**
 * Ollama as a value, over its own protocol.
 *
 * @module statewire/providers/ollama
 */

import { modelMaker, providerValue } from '../chatModels.ts'
import { openWeightModels } from '../models/openWeights.ts'
import { ollamaProfile, ollamaServer, ollama as protocol } from '../ollama/index.ts'

const preset = {
  name: 'ollama',
  tables: [openWeightModels],
  protocol,
  server: ollamaServer('/api'),
  baseUrl: 'http://localhost:11434/api',
  defaultModel: 'qwen3:8b',
  profile: ollamaProfile,
}

/**
 * A model of an Ollama server.
 *
 * @example const agent = new Agent(ollama('qwen3:8b'), { tools })
 */
export const ollama = providerValue(preset, modelMaker(preset))
