import { isJsonObject } from '../../src/messages/json.ts'
import { claudeElsewhere, claudeProfileElsewhere } from '../anthropic/claudeElsewhere.ts'
import { withoutGrammar } from '../anthropic/index.ts'
import { defineProvider } from '../defineProvider.ts'
import type { EnvironmentServer } from '../http/server.ts'
import { bedrockWire, isRegion } from './wire.ts'

/** The wire always streams, and has no setting for parallel calls. */
const bedrockClaude = claudeElsewhere('bedrock-2023-05-31', ({ body, ...wire }, model) => {
  const { stream: _, tool_choice: choice, ...rest } = body
  const { disable_parallel_tool_use: __, ...toolChoice } = isJsonObject(choice) ? choice : {}
  return {
    ...wire,
    path: `/model/${encodeURIComponent(model)}/invoke-with-response-stream`,
    body: { ...rest, ...(choice !== undefined && { tool_choice: toolChoice }) },
  }
})

const regionServer: EnvironmentServer = {
  variables: ['AWS_REGION'],
  url(read) {
    const region = read('AWS_REGION') ?? read('AWS_DEFAULT_REGION')
    const endpoint = read('AWS_ENDPOINT_URL_BEDROCK_RUNTIME')
    if (endpoint !== undefined || region === undefined || !isRegion(region)) return endpoint
    return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  },
}

/** Amazon's cloud: Claude over Anthropic's protocol, with the signatures and frames of AWS. */
export const bedrock = defineProvider({
  name: 'bedrock',
  protocol: bedrockClaude,
  server: regionServer,
  baseUrl: 'https://bedrock-runtime.{region}.amazonaws.com',
  hosts:
    /^([\w-]+\.)?bedrock(-runtime)?(-fips)?\.[a-z0-9-]+\.((vpce\.)?amazonaws\.(com(\.cn)?|eu)|api\.aws)$/,
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  keyForms: 'a Bedrock key, AWS credentials, or a function that returns either',
  environmentKey(read) {
    const [accessKeyId, secretAccessKey] = [read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY')]
    const sessionToken = read('AWS_SESSION_TOKEN')
    const key = read('AWS_BEARER_TOKEN_BEDROCK')
    if (key !== undefined || !accessKeyId || !secretAccessKey) return key
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  },
  defaultModel: 'global.anthropic.claude-sonnet-5-5',
  profile: claudeProfileElsewhere('none'),
  recover: withoutGrammar,
  // The list is not where the models are.
  models: {
    path: '/foundation-models?byProvider=anthropic',
    baseUrl: (url) => url.replace('bedrock-runtime', 'bedrock'),
  },
  wire: bedrockWire,
})
