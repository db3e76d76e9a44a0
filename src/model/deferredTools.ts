import { isJsonObject, type JsonValue } from '../messages/json.ts'
import type { ToolResultPart } from '../messages/messages.ts'
import { parseArguments } from './toolArguments.ts'

/** The name of the tool that finds deferred tools. */
export const searchToolName = 'search_tools'

/** The names of the tools that a search found. */
export const foundIn = ({ name, result, isError }: ToolResultPart): string[] => {
  if (name !== searchToolName || isError || !result.startsWith('{')) return []
  const { arguments: found } = parseArguments(result)
  const list: JsonValue[] = Array.isArray(found.tools) ? found.tools : []
  return list.flatMap((each) => (isJsonObject(each) && typeof each.name === 'string' ? [each.name] : []))
}
