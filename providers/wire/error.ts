import type { ErrorData } from '../../src/messages/errors.ts'
import type { WireError } from './protocol.ts'

/** Beside those of HTTP: a model of Bedrock that failed (424), and a Groq that is at its capacity (498). */
const retryableStatus = new Set([408, 409, 424, 429, 498])

/** True for an HTTP status that is worth another try: 408, 409, 424, 429, 498, and 500 or more. */
export const isRetryableStatus = (status: number): boolean => retryableStatus.has(status) || status >= 500

/** An account without money: OpenAI says so with the status of a rate limit, but no wait will help. */
const finalWords: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
])

const isFinal = ({ code = '', type = '' }: WireError): boolean => finalWords.has(code) || finalWords.has(type)

/** An error of the provider as data; `mayPass` is what its status, or its place in a stream, says about another try. */
export const modelError = (
  error: WireError,
  { mayPass, ...circumstances }: Circumstances & { mayPass: boolean },
): ErrorData => {
  const { status } = circumstances
  const overflow = overflowOf(error, circumstances)
  const code = overflow ? contextOverflow : error.code
  const waitMs = overflow ? undefined : error.retryAfterMs
  return {
    name: 'ModelError',
    message: error.message,
    retryable: (mayPass || isFailedAnswer(error.code)) && !overflow && !isFinal(error),
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(error.requestId !== undefined && { requestId: error.requestId }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    ...overflow,
  }
}

/**
 * The error of an error event inside a 200 stream. Providers put the HTTP status they would have answered with into
 * `code` (429, 502 …) or a word (`overloaded_error`, `rate_limit_exceeded`, `server_error`).
 */
export const streamError = (
  error: WireError,
  known: { status?: number | undefined; mayPass?: boolean } = {},
): ErrorData => {
  const status = known.status ?? statusIn(error.code)
  const mayPass = known.mayPass ?? (status === undefined ? isPassing(error) : isRetryableStatus(status))
  return modelError(error, { status, mayPass })
}

export const statusIn = (code = ''): number | undefined =>
  /^[45]\d\d$/.test(code) ? Number(code) : undefined

const passing =
  /overloaded|rate_?limit|server_error|api_error|unavailable|timeout|internal|exhausted|capacity/i

/** True for Groq's words for a call or an answer that it could not read, also with the status 400: another sample is usually fine. */
export const isFailedAnswer = (code: string | undefined): boolean =>
  code === 'tool_use_failed' || code === 'json_validate_failed'

/** True where the words of an error event say that it may pass. */
export const isPassing = ({ code = '', type = '' }: WireError): boolean => passing.test(`${code} ${type}`)

/** The error of an answer that stopped because the window was full: the same as a request that does not fit. */
export const windowReached = (reason: string): ErrorData =>
  modelError(
    { message: `The model's context window is full (${reason}).`, code: 'model_context_window_exceeded' },
    { mayPass: false },
  )

/** The one code for a request that is too long, for every server. */
const contextOverflow = 'context_overflow'

/** The tokens that fit and the tokens that were sent, as far as the text names them. */
export type Overflow = { window?: number; requested?: number }

/** The facts about an error beside its words. */
type Circumstances = {
  status?: number | undefined
}

/**
 * Reads what an error says about the size of the request; undefined if that was not the problem. This comes before anything
 * else: some servers say "too long" with a status that means "try again".
 */
export const overflowOf = (error: WireError, { status }: Circumstances = {}): Overflow | undefined => {
  const { message, code = '', type = '', window, requested } = error
  const text = message.slice(0, longestText)
  const named = { ...(window !== undefined && { window }), ...(requested !== undefined && { requested }) }
  const tier = tierLimit(text)
  if (tier) return tier
  if (otherCodes.has(code) || otherTexts.test(text)) return undefined
  const inText = countsIn(text)
  if (inText) return { ...inText, ...named }
  return codes.has(code) || codes.has(type) || status === 413 ? named : undefined
}

const longestText = 4000

/** Words that are enough by themselves: some gateways drop the text beside them. */
const codes: ReadonlySet<string> = new Set([
  'context_length_exceeded', // OpenAI, Groq
  'request_too_large', // Anthropic
  'model_context_window_exceeded', // Anthropic and z.ai, as the reason of a stop
  'exceed_context_size_error', // llama.cpp
  'ContextWindowExceededError', // LiteLLM
  '1261', // z.ai
])

/** Codes that sound alike: a single parameter that is too long, and a quota that is used up. */
const otherCodes: ReadonlySet<string> = new Set(['string_above_max_length', '1308'])

const otherTexts =
  /max[_ ]tokens must be less than|ThrottlingException|please wait before trying|rate limit|too many requests/i

/**
 * A request larger than the account may send. It is worded as a rate limit, but waiting never helps and a smaller request
 * does: an overflow whose window is that limit.
 */
const tierLimit = (text: string): Overflow | undefined => {
  const found = /limit:? ([\d,]{1,15}),(?: used:? [\d,]{1,15},)? requested:? ([\d,]{1,15})/i.exec(text)
  if (!found || !/tokens/i.test(text)) return undefined
  const overflow = { window: count(found[1]), requested: count(found[2]) }
  return overflow.requested > overflow.window ? overflow : undefined
}

/** The sentences of the servers: with counts if they give them; `more` is added to the input. */
const texts: readonly RegExp[] = [
  // Anthropic
  /prompt is too long: (?<requested>[\d,]{1,15}) tokens > (?<window>[\d,]{1,15})/i,
  /exceed context limit: (?<requested>[\d,]{1,15}) \+ (?<more>[\d,]{1,15}) > (?<window>[\d,]{1,15})/i,
  /request exceeds the maximum size/i,
  // vLLM, in its newest words
  /tokens'? is too large: (?<more>[\d,]{1,15}).{1,20}maximum context length is (?<window>[\d,]{1,15}) tokens and your request has (?<requested>[\d,]{1,15})/i,
  /maximum context length is (?<window>[\d,]{1,15}) tokens.{1,60}request has (?<requested>[\d,]{1,15}) input tokens(?: plus (?<more>[\d,]{1,15}))?/i,
  // OpenAI, Azure, OpenRouter, vLLM, DeepSeek, NVIDIA
  /maximum context length is (?<window>[\d,]{1,15}) tokens.{1,40}(?:resulted in|requested(?: about)?) (?<requested>[\d,]{1,15}) tokens/i,
  // Fireworks
  /prompt is too long: (?<requested>[\d,]{1,15}), model maximum context length: (?<window>[\d,]{1,15})/i,
  // Mistral
  /prompt contains (?<requested>[\d,]{1,15}) tokens.{1,200}too large for model with (?<window>[\d,]{1,15}) maximum context length/i,
  /maximum context length is (?<window>[\d,]{1,15})/i,
  // OpenAI's Responses
  /exceeds the context window/i,
  // Google
  /input token count(?: \((?<requested>[\d,]{1,15})\))? exceeds the maximum number of tokens allowed(?: \((?<window>[\d,]{1,15})\))?/i,
  /request payload size exceeds/i,
  // Poolside
  /input length (?<requested>[\d,]{1,15}) exceeds the maximum allowed input length of (?<window>[\d,]{1,15})/i,
  // Groq
  /reduce the length of the messages/i,
  // Together
  /input \((?<requested>[\d,]{1,15}) tokens\) is longer than the model's context length \((?<window>[\d,]{1,15})/i,
  /inputs` tokens \+ `max_new_tokens` must be <= (?<window>[\d,]{1,15})(?:.{1,20}given: (?<requested>[\d,]{1,15}) `inputs` tokens and (?<more>[\d,]{1,15}))?/i,
  // Cohere
  /total number of tokens.{1,60}cannot exceed (?<window>[\d,]{1,15}) - received (?<requested>[\d,]{1,15})/i,
  /^\s*too many tokens/i,
  // Ollama
  /exceeded max context length/i,
  /input length exceeds the context length/i,
  // llama.cpp
  /request(?: \((?<requested>[\d,]{1,15}) tokens\))? exceeds the available context size(?: \((?<window>[\d,]{1,15}))?/i,
  // LM Studio
  /greater than the context length/i,
  // xAI
  /maximum prompt length is (?<window>[\d,]{1,15}) but the request contains (?<requested>[\d,]{1,15})/i,
  // Cerebras
  /current length is (?<requested>[\d,]{1,15}) while limit is (?<window>[\d,]{1,15})/i,
  // Bedrock
  /input is too long for requested model|too many input tokens|expected maxLength:/i,
  // Kimi
  /exceeded model token limit: (?<window>[\d,]{1,15})(?: \(requested: (?<requested>[\d,]{1,15}))?/i,
  // MiniMax
  /context window exceeds limit/i,
  // DashScope
  /range of input length should be \[\d{1,15}, (?<window>[\d,]{1,15})\]/i,
  // LiteLLM
  /ContextWindowExceededError|context window exceeded/i,
  // z.ai, and others that say no more than this
  /prompt (?:is )?too long|prompt exceeds max length/i,
]

const countsIn = (text: string): Overflow | undefined => {
  for (const pattern of texts) {
    const found = pattern.exec(text)
    if (!found) continue
    const { window, requested, more } = found.groups ?? {}
    return {
      ...(window !== undefined && { window: count(window) }),
      ...(requested !== undefined && { requested: count(requested) + count(more) }),
    }
  }
  return undefined
}

const count = (digits = '0'): number => Number(digits.replaceAll(',', ''))
