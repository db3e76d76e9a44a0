import type { ModelProfile } from '../src/model/chatModel.ts'
import type { AnthropicProfile } from './anthropic/profile.ts'
import type { CohereProfile } from './cohere/profile.ts'
import type { GoogleProfile } from './google/profile.ts'
import type { MistralProfile } from './mistral/profile.ts'
import type { OllamaProfile } from './ollama/profile.ts'
import type { OpenAIChatProfile } from './openai-chat/profile.ts'
import type { OpenAIResponsesProfile } from './openai-responses/profile.ts'

type AnyProfile =
  | OpenAIChatProfile
  | OpenAIResponsesProfile
  | AnthropicProfile
  | GoogleProfile
  | MistralProfile
  | CohereProfile
  | OllamaProfile

/** The fields of a profile, each by choice; of attachments those that differ. */
type Fields<P> = P extends ModelProfile
  ? Partial<Omit<P, 'attachments'>> & { attachments?: Partial<ModelProfile['attachments']> }
  : never

/** What the user knows better about a model than its name says. */
export type ProfileOverride = {
  /** The model it behaves like, for names that do not show it: a deployment, a fine-tuned model, an alias. */
  like?: string
} & Fields<AnyProfile>

/** A profile with what the user knows better. */
export const overriddenProfile = <P extends ModelProfile>(
  profile: P,
  { like: _, attachments, ...fields }: ProfileOverride = {},
): P => ({ ...profile, ...fields, attachments: { ...profile.attachments, ...attachments } })
