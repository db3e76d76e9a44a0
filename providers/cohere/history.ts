import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { cohereForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, resultAndFollowUp } from '../wire/attachments.ts'
import { stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { opaqueOf, roleMessages, thinkingOf, wireIdsOf } from '../wire/request.ts'
import type { CohereProfile } from './profile.ts'

/** The history as v2 chat wants it: one `tool` message per result, a plan instead of text before tool calls. */
export const cohereMessages = (
  messages: readonly ChatMessage[],
  target: Target<CohereProfile>,
): JsonObject[] => {
  const wireId = wireIdsOf(messages)
  return roleMessages(messages, target, wireId, {
    model: (turn) => assistantMessages(turn, wireId, target),
    user: (turn) => userMessages(turn, wireId, target),
  })
}

/** Tool messages hold text alone: the files of results are the first that the user's message shows. */
const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<CohereProfile>,
): JsonObject[] => {
  const content: JsonObject[] = []
  const results = toolResultsOf(turn).map((part) => {
    const { text, followUp } = resultAndFollowUp(part, target, cohereForms)
    content.push(...followUp)
    // As a text, so that not a digit changes; the API reads a JSON object out of it by itself.
    return { role: 'tool', tool_call_id: wireId(part.id), content: text === '' ? '{}' : text }
  })
  for (const part of turn.parts) {
    if (part.type === 'text' && part.text !== '') content.push({ type: 'text', text: part.text })
    if (part.type === 'data' || part.type === 'link') {
      content.push(...attachmentBlocks(part, target, cohereForms))
    }
  }
  if (content.length === 0) return results
  const onlyText = content.length === 1 ? stringAt(content[0], 'text') : undefined
  return [...results, { role: 'user', content: onlyText ?? content }]
}

const assistantMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<CohereProfile>,
): JsonObject[] => {
  const text = textOf(turn)
  const calls = toolCallsOf(turn)
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }]
  return [
    {
      role: 'assistant',
      ...beforeCalls(turn, text, target),
      tool_calls: calls.map((call) => ({
        id: wireId(call.id),
        type: 'function',
        function: { name: call.name, arguments: argumentsText(call) },
      })),
    },
  ]
}

/** The fields before tool calls: Cohere's own plan and thoughts, or the text of another provider as the plan. */
const beforeCalls = (turn: ChatMessage, text: string, target: Target<CohereProfile>): JsonObject => {
  const own = opaqueOf(turn, 'cohere', target.provider)
  if (!own) return text === '' ? {} : { tool_plan: text }
  const plan = stringAt(own, 'toolPlan')
  const thinking = own.ownThinking === true && !target.profile.forgetThinking ? (thinkingOf(turn) ?? '') : ''
  const content = [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
  ]
  return { ...(plan && { tool_plan: plan }), ...(content.length > 0 && { content }) }
}

const argumentsText = (call: ToolCallPart): string => {
  if (call.argumentsError !== undefined || Object.keys(call.arguments).length === 0) return '{}'
  return call.argumentsRaw ?? JSON.stringify(call.arguments)
}
