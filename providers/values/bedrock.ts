/**
 * Amazon's cloud as a value: Claude over its own protocol, the models of all others over Converse.
 *
 * @module statewire/providers/bedrock
 */

import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { HttpRequest } from '../../src/transport/carriers.ts'
import type { AnthropicProfile } from '../anthropic/index.ts'
import { bedrockConverse, converseProfile } from '../bedrock-converse/index.ts'
import { modelMaker, providerValue } from '../chatModels.ts'
import { claudeElsewhere, claudeProfileElsewhere } from '../clouds/claude.ts'
import { eventStreamFraming } from '../clouds/eventStream.ts'
import type { Wire } from '../http/connection.ts'
import { type EnvironmentServer, environment } from '../http/connectionOf.ts'
import type { AwsCredentials } from '../http/credentials.ts'

/** The signatures and frames of AWS. They come from packages that only users of Bedrock install. */
const bedrockWire = async (): Promise<Wire> => {
  const { EventStreamCodec } = await import(/* webpackIgnore: true */ '@smithy/eventstream-codec').catch(
    missing('@smithy/eventstream-codec', 'read the streams of bedrock'),
  )
  return { framing: eventStreamFraming(EventStreamCodec), sign }
}

const sign = async (
  { method, url, headers, body }: HttpRequest,
  credentials: AwsCredentials,
): Promise<Record<string, string>> => {
  const { AwsV4Signer } = await import(/* webpackIgnore: true */ 'aws4fetch').catch(
    missing('aws4fetch', 'sign requests with AWS credentials; a Bedrock key needs no signature'),
  )
  // Nothing else is signed: a proxy may change other headers on the way.
  const amazons = Object.entries(headers).filter(([name]) => name.startsWith('x-amz'))
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: Object.fromEntries(amazons),
    ...(body !== undefined && { body }),
    ...credentials,
    service: 'bedrock',
    region: regionOf(url),
  })
  return Object.fromEntries((await signer.sign()).headers)
}

/** The region: part of Amazon's host names; a gateway needs the environment's. */
const regionOf = ({ hostname }: URL): string => {
  const [, region] = /(?:^|\.)bedrock[a-z-]*\.([a-z0-9-]+)\./.exec(hostname) ?? []
  const known = region ?? environment('AWS_REGION') ?? environment('AWS_DEFAULT_REGION')
  if (known !== undefined && isRegion(known)) return known
  throw new ConfigurationError('bedrock needs to know its region to sign requests: set AWS_REGION.')
}

const isRegion = (text: string): boolean => /^[a-z0-9-]+$/.test(text)

const missing =
  (name: string, purpose: string) =>
  (cause: unknown): never => {
    throw new ConfigurationError(`The package ${name} is needed to ${purpose}: npm install ${name}.`, {
      cause,
    })
  }

/** Claude on Bedrock: the wire always streams, and has no setting for parallel calls. */
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

/** Bedrock reserves `max_tokens` of the quota for each request: the longest answer of a model would use it up at once. */
const usualOutput = 32_000

const place = {
  name: 'bedrock',
  server: regionServer,
  baseUrl: 'https://bedrock-runtime.{region}.amazonaws.com',
  hosts:
    /^([\w-]+\.)?bedrock(-runtime)?(-fips)?\.[a-z0-9-]+\.((vpce\.)?amazonaws\.(com(\.cn)?|eu)|api\.aws)$/,
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  keyForms: 'a Bedrock key, AWS credentials, or a function that returns either',
  environmentKey(read: (variable: string) => string | undefined) {
    const [accessKeyId, secretAccessKey] = [read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY')]
    const sessionToken = read('AWS_SESSION_TOKEN')
    const key = read('AWS_BEARER_TOKEN_BEDROCK')
    if (key !== undefined || !accessKeyId || !secretAccessKey) return key
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  },
  defaultModel: 'global.anthropic.claude-sonnet-5-5',
  wire: bedrockWire,
}

const claude = {
  ...place,
  protocol: bedrockClaude,
  profile: (model: string): AnthropicProfile => {
    const profile = claudeProfileElsewhere({ serverTools: 'none', nativeSchema: true })(model)
    return { ...profile, usualOutput: Math.min(profile.maxOutput, usualOutput) }
  },
}

const converse = { ...place, protocol: bedrockConverse, profile: converseProfile }

/** The ARN of an inference profile of your own, or of bought throughput, does not say whose model it is: Claude's, if nothing else is said. */
const isClaude = (model: string): boolean =>
  /claude|anthropic|:(application-inference-profile|provisioned-model)\//.test(model)

const [claudeModel, converseModel] = [modelMaker(claude), modelMaker(converse)]

/**
 * A model in Amazon's cloud, with the signatures and frames of AWS: Claude over Anthropic's protocol, every other one over
 * Converse.
 *
 * @example const agent = new Agent(bedrock('global.anthropic.claude-sonnet-5-5'), { tools })
 */
export const bedrock = providerValue(claude, (model = place.defaultModel, options) =>
  (isClaude(options.profile?.like ?? model) ? claudeModel : converseModel)(model, options),
)
