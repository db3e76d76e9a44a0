/**
 * OpenAI's models in Microsoft's cloud, as a value.
 *
 * @module statewire/providers/azure
 */

import { providerValue } from '../chatModels.ts'
import { byModel } from '../clouds/bothProtocols.ts'
import type { KeyHeader } from '../http/connection.ts'
import { bearer, serverIn } from '../http/connectionOf.ts'
import { openaiModels } from '../models/openai.ts'

const keyHeader: KeyHeader = (key, isToken) => (isToken ? bearer(key) : { 'api-key': key })

const host = {
  name: 'azure',
  tables: [openaiModels],
  server: serverIn('AZURE_OPENAI_ENDPOINT', '/openai/v1'),
  baseUrl: 'https://{resource}.openai.azure.com/openai/v1',
  hosts: /\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/,
  keyVariable: 'AZURE_OPENAI_API_KEY',
  keyForms: 'a key, or a function that returns an Entra ID token',
  keyHeader,
  // The model is the name of a deployment, which does not say what it is.
  defaultModel: '',
}

/**
 * A deployment of one of OpenAI's models. Its name does not say which model it is: `profile` does.
 *
 * @example const agent = new Agent(azure('my-deployment', { profile: { like: 'gpt-6-luna' } }))
 */
export const azure = providerValue(host, byModel(host))
