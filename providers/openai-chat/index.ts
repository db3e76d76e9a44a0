import type { Protocol } from '../wire/protocol.ts'
import { ChatDecoder } from './decoder.ts'
import { chatError } from './error.ts'
import { chatFields, type OpenAIChatProfile } from './profile.ts'
import { chatReplay } from './replay.ts'
import { chatRequest } from './request.ts'

export { chatProfile, type OpenAIChatProfile, openaiChatProfile } from './profile.ts'

/** Chat completions, as OpenAI defined them and as everyone else speaks them. */
export const openaiChat: Protocol<OpenAIChatProfile> = {
  name: 'openai-chat',
  knownFields: true,
  profileFields: chatFields,
  request: chatRequest,
  decoder: (target) =>
    new ChatDecoder({
      protocol: 'openai-chat',
      target,
      replay: chatReplay(target),
      splitThinkTags: target.profile.splitThinkTags,
    }),
  error: chatError,
}
