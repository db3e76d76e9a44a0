import { ToolExecutionError } from '../messages/errors.ts'
import { copyJson, stableJson } from '../messages/json.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import { type ChatMessage, textPart } from '../messages/messages.ts'
import { checkValue, listOf } from '../messages/optionRules.ts'
import { type AnyToolEntry, type Tool, toolRule, toolsByName } from '../tools/tool.ts'
import { callsOfMessages, errorIn, type RecordedCall, type RecordedResult } from './recordedCalls.ts'
import { readTape } from './tape/tapeFile.ts'
import { callsOnTape } from './tape/wireCalls.ts'

/**
 * The same tools, with results from a recording: the path of a tape, or the messages of a run. A call gets the result
 * that was recorded for its name and arguments; one that was made several times gets one result after the other, and
 * then the last one again. A call that was not recorded is an error result that says so. Nothing runs and nothing needs
 * an approval. Make new ones for each run.
 *
 * @example
 * const tools = replayTools('tapes/weather.json', [weather])
 * const agent = new Agent('anthropic:claude-sonnet-5-5', { tools }) // another model, the same weather
 */
export const replayTools = (
  recording: string | readonly ChatMessage[],
  tools: readonly AnyToolEntry[],
): Tool[] => {
  checkValue('The tools of replayTools', tools, listOf(toolRule))
  if (typeof recording !== 'string') checkValue('The messages of replayTools', recording, listOf(messageRule))
  const calls = typeof recording === 'string' ? callsOnTape(readTape(recording)) : callsOfMessages(recording)
  return [...toolsByName(tools).values()].map((tool) => replayed(tool, calls))
}

const replayed = (tool: Tool, calls: readonly RecordedCall[]): Tool => {
  let known: Promise<Map<string, RecordedResult[]>> | undefined
  return {
    ...tool,
    needsApproval: false,
    isAgent: false,
    async execute(args) {
      known ??= resultsOf(tool, calls)
      const results = (await known).get(stableJson(args)) ?? []
      const result = results.length > 1 ? results.shift() : results[0]
      if (result) return answer(result)
      const given = stableJson(args).slice(0, 500)
      throw new ToolExecutionError(`No result of ${tool.name} was recorded for these arguments: ${given}`)
    },
  }
}

/** By arguments as the tool gets them: what its schema adds or changes does not matter. */
const resultsOf = async (
  tool: Tool,
  calls: readonly RecordedCall[],
): Promise<Map<string, RecordedResult[]>> => {
  const results = new Map<string, RecordedResult[]>()
  for (const call of calls) {
    const validation = call.name === tool.name ? await tool.validate(copyJson(call.arguments)) : undefined
    if (!validation?.ok) continue
    const key = stableJson(validation.value)
    results.set(key, [...(results.get(key) ?? []), call.result])
  }
  return results
}

const answer = ({ text, isError, parts = [] }: RecordedResult): unknown => {
  if (isError) throw new ToolExecutionError(errorIn(text) ?? text)
  return parts.length > 0 ? [textPart(text), ...parts] : text
}
