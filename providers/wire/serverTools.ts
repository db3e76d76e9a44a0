import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { KnownServerTool, SearchLocation, ServerTool } from '../../src/model/serverTools.ts'
import type { Target } from './protocol.ts'

/** How a protocol writes one server tool, and which of its options it has a word for. */
export type ServerToolForm<T extends KnownServerTool> = {
  takes?: readonly Exclude<keyof T, 'serverTool'>[]
  write: (tool: T) => JsonObject
}

/** A protocol's table: the server tools that its API has. */
export type ServerToolForms = {
  [Name in KnownServerTool['serverTool']]?: ServerToolForm<Extract<KnownServerTool, { serverTool: Name }>>
}

/** The server tools of a request, as entries of its `tools`. Raw ones are the user's and go out as they are. */
export const serverToolsOf = (
  { serverTools = [] }: ModelRequest,
  target: Target,
  forms: ServerToolForms,
): JsonObject[] => serverTools.map((tool) => (isKnown(tool) ? entryOf(tool, target, forms) : tool))

const isKnown = (tool: ServerTool): tool is KnownServerTool => tool.serverTool !== undefined

const entryOf = (tool: KnownServerTool, target: Target, forms: ServerToolForms): JsonObject => {
  switch (tool.serverTool) {
    case 'webSearch':
      return written(tool, forms.webSearch, target)
    case 'webFetch':
      return written(tool, forms.webFetch, target)
    case 'fileSearch':
      return written(tool, forms.fileSearch, target)
    case 'codeExecution':
      return written(tool, forms.codeExecution, target)
    case 'imageGeneration':
      return written(tool, forms.imageGeneration, target)
    default:
      throw new ConfigurationError(`${JSON.stringify(tool)} is not a server tool.`)
  }
}

/** An option that is not kept would be worse than none: a search that may go anywhere after all. */
const written = <T extends KnownServerTool>(
  tool: T,
  form: ServerToolForm<T> | undefined,
  { provider, model }: Target,
): JsonObject => {
  if (!form) {
    throw new ConfigurationError(
      `${provider}:${model} has no server tool ${tool.serverTool} on this API. ` +
        'Choose a model that has it, or write a tool for it yourself.',
    )
  }
  const known: readonly PropertyKey[] = ['serverTool', ...(form.takes ?? [])]
  const given = Object.entries(tool).filter(([, value]) => value !== undefined)
  const unknown = given.find(([option]) => !known.includes(option))
  if (unknown) {
    throw new ConfigurationError(`The server tool ${tool.serverTool} of ${provider} has no ${unknown[0]}.`)
  }
  return form.write(tool)
}

/** Without the fields that were not given. */
export const present = (fields: Record<string, JsonObject[string] | undefined>): JsonObject => {
  const entries = Object.entries(fields)
  return Object.fromEntries(entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}

/** A place in the words that Anthropic, OpenAI and OpenRouter share. */
export const approximate = (location: SearchLocation | undefined): JsonObject | undefined =>
  location && { type: 'approximate', ...present(location) }
