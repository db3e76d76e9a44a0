import type { JsonObject } from '../messages/json.ts'

/** The place that a search takes for the user's. `country` has two letters, `timezone` is a name of the IANA. */
export type SearchLocation = { city?: string; region?: string; country?: string; timezone?: string }

/** Options of {@link webSearch}. An option that a provider's search does not have is a `ConfigurationError`. */
type WebSearchOptions = {
  /** The most searches in one answer: Anthropic. */
  maxUses?: number
  /** The only domains to search: Anthropic, OpenAI, OpenRouter. */
  allowedDomains?: string[]
  /** Domains to leave out, instead of `allowedDomains`: Anthropic, OpenRouter. */
  blockedDomains?: string[]
  /** The user's place: Anthropic, OpenAI, OpenRouter. */
  location?: SearchLocation
}

/** Options of {@link webFetch}, all Anthropic's. */
type WebFetchOptions = {
  /** The most pages it may read. */
  maxUses?: number
  /** The only domains whose pages it reads. */
  allowedDomains?: string[]
  /** Domains whose pages it never reads. */
  blockedDomains?: string[]
}

/** Options of {@link fileSearch}. */
type FileSearchOptions = {
  /** The ids of OpenAI's vector stores, the names of Google's file search stores, the ids of Mistral's libraries. */
  stores: string[]
  /** The most results of one search: OpenAI, Google. */
  maxResults?: number
}

/** A web search that the provider runs. */
export type WebSearch = { serverTool: 'webSearch' } & WebSearchOptions
/** A reader of web pages that the provider runs. */
type WebFetch = { serverTool: 'webFetch' } & WebFetchOptions
/** A search that the provider runs in files that were given to it before. */
type FileSearch = { serverTool: 'fileSearch' } & FileSearchOptions
/** A sandbox at the provider in which the model runs code. */
type CodeExecution = { serverTool: 'codeExecution' }
/** A maker of images that the provider runs. */
type ImageGeneration = { serverTool: 'imageGeneration' }

/** A server tool that several providers have, each under its own name. */
export type KnownServerTool = WebSearch | WebFetch | FileSearch | CodeExecution | ImageGeneration

/**
 * A tool that the provider itself runs, beside the agent's own: one of {@link webSearch}, {@link webFetch},
 * {@link codeExecution}, {@link fileSearch} and {@link imageGeneration}, or an entry of the request's `tools` as the
 * provider's documentation has it, which goes out as it is.
 */
export type ServerTool = KnownServerTool | (JsonObject & { serverTool?: never })

/**
 * Lets the model search the web: Anthropic, OpenAI's Responses API, Google, Mistral, OpenRouter, and gpt-oss on Groq.
 *
 * @example new Agent('anthropic:claude-sonnet-5-5', { serverTools: [webSearch({ maxUses: 3 })] })
 */
export const webSearch = (options: WebSearchOptions = {}): ServerTool => ({
  serverTool: 'webSearch',
  ...options,
})

/**
 * Lets the model read the pages that it or the user names: Anthropic, Google, OpenRouter.
 *
 * @example new Agent('google:gemini-3.8-flash', { serverTools: [webFetch()] })
 */
export const webFetch = (options: WebFetchOptions = {}): ServerTool => ({
  serverTool: 'webFetch',
  ...options,
})

/**
 * Lets the model run code in a sandbox at the provider: Anthropic, OpenAI's Responses API, Google, Mistral, and gpt-oss
 * on Groq.
 *
 * @example new Agent('openai-responses', { serverTools: [codeExecution()] })
 */
export const codeExecution = (): ServerTool => ({ serverTool: 'codeExecution' })

/**
 * Lets the model search files that were given to the provider before: OpenAI's Responses API, Google, Mistral.
 *
 * @example new Agent('openai-responses', { serverTools: [fileSearch({ stores: ['vs_1'] })] })
 */
export const fileSearch = (options: FileSearchOptions): ServerTool => ({
  serverTool: 'fileSearch',
  ...options,
})

/**
 * Lets the model make images, which come as parts of its message: OpenAI's Responses API, Mistral, OpenRouter.
 *
 * @example new Agent('openai-responses', { serverTools: [imageGeneration()] })
 */
export const imageGeneration = (): ServerTool => ({ serverTool: 'imageGeneration' })
