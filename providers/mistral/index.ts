import { ChatDecoder } from '../openai-chat/decoder.ts'
import { chatError } from '../openai-chat/error.ts'
import type { Protocol } from '../wire/protocol.ts'
import { type MistralProfile, mistralFields } from './profile.ts'
import { mistralReplay } from './replay.ts'
import { mistralRequest } from './request.ts'

export { type MistralProfile, mistralProfile } from './profile.ts'

/** Mistral's chat completions: OpenAI's chunks, with thinking as a part of the content and a stricter request. */
export const mistral: Protocol<MistralProfile> = {
  name: 'mistral',
  knownFields: true,
  profileFields: mistralFields,
  request: mistralRequest,
  decoder: (target) => new ChatDecoder({ protocol: 'mistral', target, replay: mistralReplay() }),
  error: chatError,
}
