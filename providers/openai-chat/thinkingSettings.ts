import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { anyEffort, effortFor, someThinking } from '../models/thinking.ts'
import type { Target } from '../wire/protocol.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** Sets how much the model thinks, in its vendor's terms; models that do not think get no setting. */
export const thinkingSettings = (
  { thinking, tools = [] }: ModelRequest,
  target: Target<OpenAIChatProfile>,
): JsonObject => {
  const { thinkingControl = 'reasoning_effort', efforts = anyEffort, ...profile } = target.profile
  if (profile.toolsOnlyWithoutThinking && tools.length > 0) {
    if (!thinking && efforts.includes('none')) return { reasoning_effort: 'none' }
    throw needsResponses(target, efforts.includes('none'))
  }
  if (thinking === undefined || !profile.thinking) return {}
  const isOn = thinking !== false
  const { effort, budgetTokens } = typeof thinking === 'object' ? thinking : {}
  switch (thinkingControl) {
    case 'reasoning_effort': {
      const word = effortFor(someThinking(thinking), efforts)
      return word === undefined ? {} : { reasoning_effort: word }
    }
    case 'reasoning': {
      const word = effort && effortFor(thinking, efforts)
      if (word !== undefined) return { reasoning: { effort: word } }
      if (budgetTokens !== undefined && efforts.length > 0) return { reasoning: { max_tokens: budgetTokens } }
      return { reasoning: { enabled: isOn } }
    }
    case 'thinking': {
      const word = effort && effortFor(thinking, efforts)
      return { thinking: { type: isOn ? 'enabled' : 'disabled' }, ...(word && { reasoning_effort: word }) }
    }
    case 'enable_thinking':
      return { enable_thinking: isOn, ...(budgetTokens !== undefined && { thinking_budget: budgetTokens }) }
    case 'chat_template_kwargs':
      return { chat_template_kwargs: { enable_thinking: isOn } }
  }
}

const needsResponses = ({ model }: Target, canStop: boolean): ConfigurationError =>
  new ConfigurationError(
    `Over chat completions ${model} does not take tools while it thinks. ${canStop ? 'Set thinking: false, or use' : 'Use'} the Responses API: "openai:${model}" or "openai-responses:${model}".`,
  )
