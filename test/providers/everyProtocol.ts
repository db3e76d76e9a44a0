import { anthropic, anthropicProfile } from '../../providers/anthropic/index.ts'
import { cohere } from '../../providers/cohere/index.ts'
import { geminiProfile, google } from '../../providers/google/index.ts'
import { mistral } from '../../providers/mistral/index.ts'
import { ollama } from '../../providers/ollama/index.ts'
import { openaiChat } from '../../providers/openai-chat/index.ts'
import { openaiResponses } from '../../providers/openai-responses/index.ts'
import type { Protocol } from '../../providers/wire/protocol.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import { plainProfile } from './openai-chat/plainProfile.ts'

export type Ask = (request: ModelRequest, abilities?: Partial<ModelProfile>) => JsonObject

const asking = <P extends ModelProfile>(protocol: Protocol<P>, model: string, profile: P): Ask => {
  // The same for all requests, as that of a model is.
  const target = { provider: protocol.name, model, profile }
  return (request, abilities) =>
    protocol.request(
      { cache: 'off', ...request },
      abilities ? { ...target, profile: { ...profile, ...abilities } } : target,
    ).body
}

/** A model for each wire protocol, each able to do what its protocol can carry: gives the body of a request. */
export const everyProtocol = {
  anthropic: asking(anthropic, 'claude-sonnet-5', anthropicProfile('claude-sonnet-5')),
  'openai-chat': asking(openaiChat, 'gpt-4.1', { ...plainProfile, promptCache: 'key' }),
  'openai-responses': asking(openaiResponses, 'gpt-5.1', {
    ...plainProfile,
    anyFile: true,
    promptCache: 'key',
  }),
  google: asking(google, 'gemini-3-flash', geminiProfile('gemini-3-flash')),
  mistral: asking(mistral, 'mistral-small-latest', plainProfile),
  cohere: asking(cohere, 'command-a-vision', plainProfile),
  ollama: asking(ollama, 'qwen3:8b', plainProfile),
} satisfies Record<string, Ask>

export type ProtocolName = keyof typeof everyProtocol

export const protocolNames = Object.keys(everyProtocol) as ProtocolName[]
