import type { JsonObject } from '../../src/messages/json.ts'
import type { Thinking } from '../../src/model/chatModel.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** Tells the model how much to think, in its vendor's words; models that do not think are told nothing. */
export const thinkingSettings = (thinking: Thinking | undefined, profile: OpenAIChatProfile): JsonObject => {
  if (thinking === undefined || !profile.thinking) return {}
  const { thinkingControl = 'reasoning_effort', lowestEffort = 'none' } = profile
  const isOn = thinking !== false
  const { effort, budgetTokens } = typeof thinking === 'object' ? thinking : {}
  switch (thinkingControl) {
    case 'reasoning_effort':
      return { reasoning_effort: isOn ? (effort ?? 'medium') : lowestEffort }
    case 'reasoning':
      if (effort !== undefined) return { reasoning: { effort } }
      if (budgetTokens !== undefined) return { reasoning: { max_tokens: budgetTokens } }
      return { reasoning: { enabled: isOn } }
    case 'thinking':
      return {
        thinking: { type: isOn ? 'enabled' : 'disabled' },
        ...(effort && { reasoning_effort: effort }),
      }
    case 'enable_thinking':
      return { enable_thinking: isOn, ...(budgetTokens !== undefined && { thinking_budget: budgetTokens }) }
    case 'chat_template_kwargs':
      return { chat_template_kwargs: { enable_thinking: isOn } }
  }
}
