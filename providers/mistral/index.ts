import { ChatDecoder } from '../openai-chat/chatDecoder.ts'
import { chatError } from '../openai-chat/chatError.ts'
import type { Protocol } from '../protocol.ts'
import { mistralReplay } from './mistralReplay.ts'
import { mistralRequest } from './mistralRequest.ts'
import type { MistralProfile } from './profile.ts'

export { type MistralProfile, mistralProfile } from './profile.ts'

/** Mistral's chat completions: OpenAI's chunks, with thinking as a part of the content and a stricter request. */
export const mistral: Protocol<MistralProfile> = {
  name: 'mistral',
  request: mistralRequest,
  decoder: (target) => new ChatDecoder({ protocol: 'mistral', target, replay: mistralReplay() }),
  error: chatError,
}
