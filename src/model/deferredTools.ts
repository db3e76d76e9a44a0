import { isJsonObject, type JsonValue } from '../messages/json.ts'
import type { ToolResultPart } from '../messages/messages.ts'
import type { ModelRequest } from './chatModel.ts'
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

/** True for a request with tools that the API loads when a search finds them. */
export const hasDeferred = ({ tools = [] }: ModelRequest): boolean => tools.some(({ deferred }) => deferred)

/** Writes a request for a server that does not load tools: it gets all of them at once. */
export const withAllTools = (request: ModelRequest): ModelRequest =>
  hasDeferred(request)
    ? { ...request, tools: request.tools?.map(({ deferred: _, ...spec }) => spec) ?? [] }
    : request
