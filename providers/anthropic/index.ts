import type { Protocol } from '../wire/protocol.ts'
import { AnthropicDecoder } from './decoder.ts'
import { anthropicError } from './error.ts'
import { type AnthropicProfile, anthropicFields } from './profile.ts'
import { anthropicRequest } from './request.ts'

export { type AnthropicProfile, anthropicProfile } from './profile.ts'
export { anthropicHeaders } from './request.ts'

/** Anthropic's Messages API, also as Bedrock, Vertex, Azure and other vendors offer it. */
export const anthropic: Protocol<AnthropicProfile> = {
  name: 'anthropic',
  knownFields: true,
  profileFields: anthropicFields,
  request: anthropicRequest,
  decoder: (target) => new AnthropicDecoder(target),
  error: anthropicError,
}
