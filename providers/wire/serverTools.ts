import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { KnownServerTool, SearchLocation, ServerTool, WebSearch } from '../../src/model/serverTools.ts'
import { arrayAt, stringAt } from './json.ts'
import type { Target } from './protocol.ts'

/** The form of one server tool on a wire, and which of its options the wire has a word for. */
type ServerToolForm<T extends KnownServerTool> = {
  takes?: readonly Exclude<keyof T, 'serverTool'>[]
  write: (tool: T) => JsonObject
}

/** A protocol's table: the server tools that its API has. */
type ServerToolForms = {
  [Name in KnownServerTool['serverTool']]?: ServerToolForm<Extract<KnownServerTool, { serverTool: Name }>>
}

/** The server tools of a request, as entries of its `tools`. Raw ones are the user's and go out as they are. */
export const serverToolsOf = (
  { serverTools = [] }: ModelRequest,
  target: Target,
  forms: ServerToolForms,
): JsonObject[] => serverTools.map((tool) => (isKnown(tool) ? entryOf(tool, target, forms) : tool))

/**
 * Refuses an entry of `tools` whose calls the client must run and no tool of the agent does: the model would call it, and
 * nothing would happen.
 */
export const checkClientTools = (
  body: JsonObject,
  { tools = [] }: ModelRequest,
  { provider }: Target,
  isClients: (entry: JsonObject) => boolean,
): void => {
  const own = new Set<unknown>(tools.flatMap(({ wire }) => Object.values(wire ?? {})))
  for (const entry of arrayAt(body, 'tools') ?? []) {
    if (!isJsonObject(entry) || own.has(entry) || !isClients(entry)) continue
    const name = stringAt(entry, 'name') ?? stringAt(entry, 'server_label') ?? stringAt(entry, 'type')
    throw new ConfigurationError(
      `${provider} does not run the tool ${name} itself: write tool({ name: '${name}', wire, execute }), with this entry in its wire.`,
    )
  }
}

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

/** Refuses an option that the wire has no word for: dropped, it would let a search go anywhere after all. */
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

/** The fields that were given. */
const present = (fields: Record<string, JsonObject[string] | undefined>): JsonObject => {
  const entries = Object.entries(fields)
  return Object.fromEntries(entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}

/** A place in the words that Anthropic, OpenAI and OpenRouter share. */
const approximate = (location: SearchLocation | undefined): JsonObject | undefined =>
  location && { type: 'approximate', ...present(location) }

const anthropicSearch: ServerToolForm<WebSearch> = {
  takes: ['maxUses', 'allowedDomains', 'blockedDomains', 'location'],
  write: ({ maxUses, allowedDomains, blockedDomains, location }) => ({
    type: 'web_search_20250305',
    name: 'web_search',
    ...present({
      max_uses: maxUses,
      allowed_domains: allowedDomains,
      blocked_domains: blockedDomains,
      user_location: approximate(location),
    }),
  }),
}

/** Anthropic's server tools, in the versions that every model takes; newer ones can be given as they are. */
const anthropicTools: ServerToolForms = {
  webSearch: anthropicSearch,
  webFetch: {
    takes: ['maxUses', 'allowedDomains', 'blockedDomains'],
    write: ({ maxUses, allowedDomains, blockedDomains }) => ({
      type: 'web_fetch_20250910',
      name: 'web_fetch',
      ...present({
        max_uses: maxUses,
        allowed_domains: allowedDomains,
        blocked_domains: blockedDomains,
      }),
    }),
  },
  codeExecution: { write: () => ({ type: 'code_execution_20250825', name: 'code_execution' }) },
}

/** Anthropic's server tools, as far as the cloud with the model has them; all where nothing is said. */
export const anthropicServerTools = ({
  serverTools,
}: {
  serverTools?: 'webSearch' | 'none'
}): ServerToolForms => {
  if (serverTools === undefined) return anthropicTools
  return serverTools === 'none' ? {} : { webSearch: anthropicSearch }
}

/** Gemini's built-in tools. */
export const googleServerTools: ServerToolForms = {
  webSearch: { write: () => ({ googleSearch: {} }) },
  webFetch: { write: () => ({ urlContext: {} }) },
  codeExecution: { write: () => ({ codeExecution: {} }) },
  fileSearch: {
    takes: ['stores', 'maxResults'],
    write: ({ stores, maxResults }) => ({
      fileSearch: { fileSearchStoreNames: stores, ...present({ topK: maxResults }) },
    }),
  },
}

/** The built-in tools of the Responses API. */
export const responsesServerTools: ServerToolForms = {
  webSearch: {
    takes: ['allowedDomains', 'location'],
    write: ({ allowedDomains, location }) => ({
      type: 'web_search',
      ...(allowedDomains && { filters: { allowed_domains: allowedDomains } }),
      ...present({ user_location: approximate(location) }),
    }),
  },
  codeExecution: { write: () => ({ type: 'code_interpreter', container: { type: 'auto' } }) },
  fileSearch: {
    takes: ['stores', 'maxResults'],
    write: ({ stores, maxResults }) => ({
      type: 'file_search',
      vector_store_ids: stores,
      ...present({ max_num_results: maxResults }),
    }),
  },
  imageGeneration: { write: () => ({ type: 'image_generation' }) },
}

/** The server tools that vendors added to chat completions, which have none. */
export const chatServerTools: Record<'openrouter' | 'groq', ServerToolForms> = {
  openrouter: {
    webSearch: {
      takes: ['allowedDomains', 'blockedDomains', 'location'],
      write: ({ allowedDomains, blockedDomains, location }) => {
        const parameters = present({
          allowed_domains: allowedDomains,
          excluded_domains: blockedDomains,
          user_location: approximate(location),
        })
        return {
          type: 'openrouter:web_search',
          ...(Object.keys(parameters).length > 0 && { parameters }),
        }
      },
    },
    webFetch: { write: () => ({ type: 'openrouter:web_fetch' }) },
    imageGeneration: { write: () => ({ type: 'openrouter:image_generation' }) },
  },
  groq: {
    webSearch: { write: () => ({ type: 'browser_search' }) },
    codeExecution: { write: () => ({ type: 'code_interpreter' }) },
  },
}

/** The tools that Amazon runs for Nova. */
export const novaServerTools: ServerToolForms = {
  webSearch: { write: () => ({ systemTool: { name: 'nova_grounding' } }) },
  codeExecution: { write: () => ({ systemTool: { name: 'nova_code_interpreter' } }) },
}

/** Mistral's connectors. */
export const mistralServerTools: ServerToolForms = {
  webSearch: { write: () => ({ type: 'web_search' }) },
  codeExecution: { write: () => ({ type: 'code_interpreter' }) },
  imageGeneration: { write: () => ({ type: 'image_generation' }) },
  fileSearch: {
    takes: ['stores'],
    write: ({ stores }) => ({ type: 'document_library', library_ids: stores }),
  },
}
