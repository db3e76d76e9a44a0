import type { Protocol } from '../protocol.ts'
import { ChatDecoder } from './chatDecoder.ts'
import { chatError } from './chatError.ts'
import { chatReplay } from './chatReplay.ts'
import { chatRequest } from './chatRequest.ts'
import type { OpenAIChatProfile } from './profile.ts'

export { gatewayProfile, hostedProfile, openaiChatProfile } from './modelProfile.ts'
export { chatProfile, type OpenAIChatProfile, type RefusedSetting, type ThinkingControl } from './profile.ts'

/** Chat completions, as OpenAI defined them and as everyone else speaks them. */
export const openaiChat: Protocol<OpenAIChatProfile> = {
  name: 'openai-chat',
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
