import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import { checkValue, listOf, orWrite } from '../messages/optionRules.ts'
import { searchToolName } from '../model/deferredTools.ts'
import type { WireToolCall } from '../model/delta.ts'
import { parseArguments } from '../model/toolArguments.ts'
import { isToolSource, type Tool, type ToolSource, tool, toolRule } from './tool.ts'
import { defaultMaxResult, errorResult } from './toolResult.ts'

// Tools that a model finds when it needs them. What it found is in its conversation, as the results of its searches:
// nothing else has to be stored, and no request changes what came before it.

/** The name of the tool that calls a found tool, for models whose API does not load tools by itself. */
export const callToolName = 'call_tool'

const mostFound = 5
const longestQuery = 500

/** Finds tools. The chart answers its calls, because it knows all tools of the run. */
const searchTool: Tool = tool({
  name: searchToolName,
  description:
    'Finds tools by what they do. There are more tools than the ones you see: search before you say that something cannot be done. Returns the names, the descriptions and the parameters of the tools that fit best.',
  input: {
    jsonSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A few words on what the tool should do, or its name.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
  },
  execute: () => '',
  repeatable: true,
  onInterrupted: 'rerun',
})

/** The call of a tool that does not exist: the others run under their own names. */
const callTool: Tool = tool({
  name: callToolName,
  description: `Calls a tool that ${searchToolName} found, by its name, with arguments that fit its parameters.`,
  input: {
    jsonSchema: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        arguments: { type: 'object', additionalProperties: true },
      },
      required: ['name'],
    },
  },
  execute: (args) => {
    const { name }: { name?: unknown } = Object(args)
    throw new Error(`There is no tool named "${String(name)}". Find one with ${searchToolName}.`)
  },
  onInterrupted: 'rerun',
})

const wrapped = new WeakMap<Tool, Tool>()

const asDeferred = (each: Tool): Tool => {
  const known = wrapped.get(each) ?? { ...each, isDeferred: true as const }
  wrapped.set(each, known)
  return known
}

/**
 * Keeps tools out of the requests until the model asks for them: for the 200 tools of a few MCP servers. The model gets
 * a tool that searches names, descriptions and parameters, and calls the tools it finds. Requests stay append-only,
 * even if the source gains or loses tools.
 *
 * @example new Agent('anthropic:claude-sonnet-5-5', { tools: [weather, deferred(await connectMcp({ url }))] })
 */
export const deferred = (source: ToolSource | readonly (Tool | ToolSource)[]): ToolSource => {
  const whole = 'tools' in Object(source) ? [source] : source
  checkValue(
    'What deferred() takes',
    whole,
    orWrite(listOf(toolRule), (value) => (Array.isArray(value) ? undefined : 'deferred([tool])')),
  )
  const entries = 'tools' in source ? [source] : [...source]
  return {
    get tools() {
      const all = entries.flatMap((entry): readonly Tool[] => (isToolSource(entry) ? entry.tools : [entry]))
      return [searchTool, callTool, ...all.map(asDeferred)]
    },
  }
}

/** Words of a tool that a search looks through, the name first. */
const wordsOfTools = new WeakMap<Tool, { name: string; rest: string }>()

const wordsOf = (each: Tool): { name: string; rest: string } => {
  const known = wordsOfTools.get(each) ?? {
    name: each.name.toLowerCase(),
    rest: `${each.description} ${parameterWords(each.inputSchema ?? {})}`.toLowerCase(),
  }
  wordsOfTools.set(each, known)
  return known
}

/** The names and descriptions of the parameters of a tool, without those inside of others. */
const parameterWords = ({ properties }: JsonObject): string =>
  isJsonObject(properties)
    ? Object.entries(properties)
        .map(([name, each]) => `${name} ${isJsonObject(each) ? String(each.description ?? '') : ''}`)
        .join(' ')
    : ''

/** True for a call of the tool that searches, and not of another one that has its name. */
export const isSearch = ({ name }: ToolCallPart, tools: ReadonlyMap<string, Tool>): boolean =>
  name === searchToolName && tools.get(name) === searchTool

/** The result of a search among the deferred tools of a run. */
export const searchResult = (call: ToolCallPart, tools: ReadonlyMap<string, Tool>): ToolResultPart => {
  const { query } = call.arguments
  if (typeof query !== 'string' || query.trim() === '')
    return errorResult(call, `${searchToolName} needs a query: a few words on what the tool should do.`)
  const words = [
    ...new Set(
      query
        .slice(0, longestQuery)
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? [],
    ),
  ]
  const all = [...tools.values()].filter(({ isDeferred }) => isDeferred)
  const found = all
    .map((each) => ({ each, score: scoreOf(each, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, mostFound)
    .map(({ each }) => described(each))
  const result =
    found.length > 0
      ? JSON.stringify({ tools: fitting(found) })
      : `None of the ${all.length} tools that can be searched fits "${query.slice(0, 80)}". Try other words.`
  return { type: 'toolResult', id: call.id, name: call.name, result }
}

/** Schemas may be long: what does not fit is named without its parameters. */
const fitting = (found: readonly JsonObject[]): JsonObject[] => {
  let room = defaultMaxResult
  return found.map(({ parameters, ...named }) => {
    const length = JSON.stringify(parameters ?? {}).length
    if (length > room) return named
    room -= length
    return { ...named, parameters: parameters ?? {} }
  })
}

const scoreOf = (each: Tool, words: readonly string[]): number => {
  const { name, rest } = wordsOf(each)
  return words.reduce((sum, word) => sum + (name.includes(word) ? 3 : 0) + (rest.includes(word) ? 1 : 0), 0)
}

const described = ({ name, description, inputSchema }: Tool): JsonObject => ({
  name,
  description,
  parameters: inputSchema ?? {},
})

/**
 * The call that a model makes through `call_tool`, under the name of the real tool: approvals, limits and results are
 * about that tool.
 */
export const unwrapped = (call: WireToolCall, tools: ReadonlyMap<string, Tool>): WireToolCall => {
  if (call.name !== callToolName || tools.get(callToolName) !== callTool || call.argumentsError) return call
  const { name, arguments: args = {} } = call.arguments
  if (typeof name !== 'string' || !tools.get(name)?.isDeferred) return call
  // Some models write the inner arguments as a text.
  return { id: call.id, name, ...parseArguments(args) }
}
