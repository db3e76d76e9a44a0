import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { conversationOf } from '../wire/conversation.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { withProviderOptions } from '../wire/providerOptions.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { withCacheMarkers } from './cacheMarkers.ts'
import { openContainer, resumesWithoutThinking, wireMessages } from './history.ts'
import { outputSchema, schemaInstruction } from './outputFormat.ts'
import type { AnthropicProfile } from './profile.ts'
import { anthropicServerTools } from './serverTools.ts'
import { type ThinkingSettings, thinkingSettings, thinks } from './thinking.ts'
import { forcesTool, toolSettings } from './tools.ts'

/** Every request of the API carries it, also those for lists. */
export const anthropicHeaders = { 'anthropic-version': '2023-06-01' }

export const anthropicRequest = (request: ModelRequest, target: Target<AnthropicProfile>): WireRequest => {
  const { model, profile } = target
  const { system, turns } = conversationOf(request.messages)
  const messages = wireMessages(turns, target)
  const thinking = thinkingSettings(request, profile, {
    forcedTool: forcesTool(request, profile),
    resumesWithoutThinking: resumesWithoutThinking(messages),
  })
  const schema = profile.nativeSchema && request.outputSchema ? outputSchema(request.outputSchema) : undefined
  const instruction = request.outputSchema && !schema ? schemaInstruction(request.outputSchema) : ''
  const instructions = [system, instruction].filter((text) => text.trim() !== '').join('\n\n')
  const container = openContainer(turns, target)
  // A stop sequence of white space only is rejected.
  const stops = request.stopSequences?.filter((stop) => stop.trim() !== '') ?? []
  const body: JsonObject = {
    model,
    max_tokens: thinking.maxTokens,
    ...(instructions !== '' && { system: instructions }),
    messages,
    ...toolSettings(request, profile, serverToolsOf(request, target, anthropicServerTools(profile))),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...outputConfig(thinking.effort, schema),
    ...sampling(request, profile, thinking),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(container !== undefined && { container }),
    stream: true,
  }
  return {
    path: '/messages',
    headers: anthropicHeaders,
    body: withCacheMarkers(withProviderOptions(body, request.providerOptions), request.cache),
  }
}

const outputConfig = (effort: string | undefined, schema: JsonObject | undefined): JsonObject =>
  effort === undefined && !schema
    ? {}
    : {
        output_config: {
          ...(effort !== undefined && { effort }),
          ...(schema && { format: { type: 'json_schema', schema } }),
        },
      }

/** While it thinks, a model takes no temperature and hardly any top_p; elsewhere the temperature goes first. */
const sampling = (
  { temperature, topP }: ModelRequest,
  profile: AnthropicProfile,
  thinking: ThinkingSettings,
): JsonObject => {
  const none = profile.sampling === 'none'
  const sent = none || thinks(thinking) ? undefined : temperature
  const onlyOne = profile.sampling === 'one' && sent !== undefined
  const topPFits = topP !== undefined && (!thinks(thinking) || topP >= 0.95)
  return {
    ...(sent !== undefined && { temperature: sent }),
    ...(topPFits && !none && !onlyOne && { top_p: topP }),
  }
}
