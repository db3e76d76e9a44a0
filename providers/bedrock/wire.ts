import { ConfigurationError } from '../../src/messages/errors.ts'
import type { HttpRequest } from '../../src/transport/exchange.ts'
import type { AwsCredentials } from '../http/apiKey.ts'
import type { Wire } from '../http/connection.ts'
import { environment } from '../http/server.ts'
import { eventStreamFraming } from './eventStream.ts'

/** Signatures and frames come from packages that only those install who use Bedrock. */
export const bedrockWire = async (): Promise<Wire> => {
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

/** The host says it, but for gateways. */
const regionOf = ({ hostname }: URL): string => {
  const [, region] = /(?:^|\.)bedrock[a-z-]*\.([a-z0-9-]+)\./.exec(hostname) ?? []
  const known = region ?? environment('AWS_REGION') ?? environment('AWS_DEFAULT_REGION')
  if (known !== undefined && isRegion(known)) return known
  throw new ConfigurationError('bedrock needs to know its region to sign requests: set AWS_REGION.')
}

export const isRegion = (text: string): boolean => /^[a-z0-9-]+$/.test(text)

const missing =
  (name: string, purpose: string) =>
  (cause: unknown): never => {
    throw new ConfigurationError(`The package ${name} is needed to ${purpose}: npm install ${name}.`, {
      cause,
    })
  }
