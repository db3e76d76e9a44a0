import type { ErrorData } from '../src/messages/errors.ts'
import type { ModelProfile, ModelRequest } from '../src/model/chatModel.ts'
import { chatProfile, type OpenAIChatProfile } from './openai-chat/index.ts'
import {
  isUnknownPreviousResponse,
  type OpenAIResponsesProfile,
  withoutPreviousResponse,
} from './openai-responses/index.ts'

export const can = (abilities: Partial<ModelProfile> = {}): ModelProfile => ({
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  ...abilities,
  attachments: { images: true, pdf: false, audio: false, links: true, ...abilities.attachments },
})

/** OpenAI's models that reason: they refuse sampling settings and know efforts. */
const isReasoningModel = (model: string): boolean => /(^|\/)(o\d|gpt-5(?!.*chat)|gpt-[6-9])/.test(model)

const lowestEffort = (model: string): 'none' | 'minimal' | 'low' =>
  /(^|\/)o\d/.test(model) ? 'low' : /gpt-5($|-)/.test(model) ? 'minimal' : 'none'

const openaiAbilities = can({
  schemaWithTools: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
})

/** OpenAI itself, or any server that speaks its chat protocol: nobody knows the quirks of those. */
export const openaiProfile = (model: string, isOwnServer: boolean): OpenAIChatProfile => ({
  ...openaiAbilities,
  thinking: isReasoningModel(model) || isOwnServer,
  ...(isReasoningModel(model) && {
    refuses: ['temperature', 'topP', 'stopSequences'],
    lowestEffort: lowestEffort(model),
  }),
  ...(isOwnServer && {
    strictSchemas: false,
    toolCallIds: 'any',
    maxTokensField: isReasoningModel(model) ? 'max_completion_tokens' : 'max_tokens',
    reasoningReplay: /deepseek|kimi/i.test(model) ? 'reasoning_content' : 'none',
  }),
})

export const responsesProfile = (model: string): OpenAIResponsesProfile => ({
  ...openaiAbilities,
  thinking: isReasoningModel(model),
  fixedSampling: isReasoningModel(model),
  lowestEffort: lowestEffort(model),
  anyFile: true,
})

export const withWholeHistory = (request: ModelRequest, error: ErrorData): ModelRequest | undefined =>
  isUnknownPreviousResponse(error) ? withoutPreviousResponse(request) : undefined

export const compatible =
  (quirks: Partial<OpenAIChatProfile> = {}, abilities: Partial<ModelProfile> = {}) =>
  (): OpenAIChatProfile => ({ ...chatProfile, ...can(abilities), ...quirks })
