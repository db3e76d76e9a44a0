import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { anyEffort, type EffortWord, effortFor } from '../models/modelFacts.ts'
import { valueAt, withValueAt } from '../wire/settings.ts'

// The words of refusals. Servers have no codes for them, so each pattern is what several of them say.

/** The words with which servers refuse a field or its value. */
const refusing =
  /unsupported|not support|n't support|not (?:currently |yet )?(?:permitted|allowed|available|accepted|enabled|implemented|compatible|recogni[sz]ed|valid)|unavailable|not configurable|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|extraneous|deprecated|cannot|can't|may (?:only|not) be|incompatible|no longer|\bonly\b|invalid|no endpoints found|must (?:either )?(?:be|not)|should (?:be|not)|not (?:one of|understand)|disabled for|expected one of|mutually exclusive|not both|mismatch|not match|restricted|validation error|不支持|仅支持|只支持|不允许|无效|非法|不合法|有误/i

/** The words about a number that is too large or too small: the mistake is the caller's, and the setting is taken. */
export const outOfRange =
  /\brange\b|between|\bin ?[[(] ?-?\d|at (?:least|most)|(?:less|greater|larger|smaller|higher|lower) than|too (?:large|big|small|high|low|many)|[<>]=?\s*-?\d|exceed|maximum (?:value|length)|minimum value|\b(?:non-)?(?:positive|negative)\b|范围/i

export const isRefusal = (text: string, named: RegExp): boolean => named.test(text) && refusing.test(text)

/** The names that servers have for settings. An English sentence may have "stop" in it, so that one needs a place around it. */
export const namesOfSettings = {
  parallelToolCalls: /parallel[_ ]?tool[_ ]?(?:calls?|use)/i,
  toolChoice:
    /tool[_ ]?choice|function[_ ]?calling[_ ]?config|allowed_function_names|forc(?:es|ed|ing) (?:a )?(?:tool|function)/i,
  topP: /top_?p\b|['"`]p['"`]/i,
  temperature: /temperature/i,
  seed: /\b(?:random_)?seed\b/i,
  stopSequences:
    /stop[_ ]?sequences?|['"`[]stop['"`\]]|(?:parameters?|arguments?|fields?|model|body|[>/]):? ?\.?stop\b|\bstop\b.{0,20}(?:parameter|not supported)|\bstop ?参数|[\w$]\.stop\b/i,
  thinking:
    /^(?!.{0,20}max_(?:output_)?tokens|.*reasoning_content).*(?:think|reasoning|budget_tokens|chat_template|prompt_mode)/is,
} as const

const limits = [
  /max_(?:completion_|output_)?tokens:? \d+ > (\d+)/i,
  /supports at most (\d+) (?:completion|output) tokens/i,
  /(?:requested )?exceeds the model limit of (\d+)/i,
  /max[_ ](?:completion_|output_)?tokens`? must be (?:less than or equal to|<=|≤|at most|no more than) `?(\d+)/i,
  /max_tokens.{0,40}\[1, ?(\d+)\]/i,
  /maxOutputTokens.{0,80}range is from 1 \(inclusive\) to (?<beyond>\d+) \(exclusive\)/i,
]

export const limitIn = (text: string): number | undefined => {
  for (const pattern of limits) {
    const found = pattern.exec(text)
    if (found) return Number(found[1]) - (found.groups?.beyond === undefined ? 0 : 1)
  }
  return undefined
}

/** A schema that the server cannot use; another one may do. */
export const aboutOneSchema =
  /compiled grammar|grammar (?:compilation|error)|(?:fail(?:ed|ure) to|error) (?:pars|compil|convert)\w* (?:the )?(?:grammar|schema)|too many (?:optional )?parameters|schema is too complex|too many states|invalid schema for response_format|schema produces a constraint|schema\b.{0,60}exceeds|invalid json[_ ]schema|schema conversion failed|object fields require|could not understand the instance|not supported by \w*grammar/i

/** A word or a place in the schema of an answer: what is refused is this one. */
export const inSchema =
  /\b(?:additionalProperties|propertyNames|patternProperties|minItems|maxItems|prefixItems|any_?of|one_?of|all_?of)\b|['"`]properties['"`]|(?:response_?schema|json_schema|format\.schema)['"`]?[.[]\w|format\.schema:/i

/** A turn whose beginning has no thinking, sent with thinking. */
export const withThinking = /expected .?(?:redacted_)?thinking|must start with a thinking/i

export const aboutSchemas =
  /response[_ ]?format|json[_ ]?(?:schema|response)|response[_ ]?mime[_ ]?type|response[_ ]?schema|output_config(?!\.effort)|output_format|structured[_ ]outputs?|json mode|text\.format|guided[_ ](?:json|decoding)|grammar constraints|controlled generation|['"`]format['"`]/i

export const aboutChanges =
  /\bsystem\b|tool_(?:addition|removal|definition)|anthropic-beta|beta flag|(?:additional|allowed)_tools/i

export const aboutBinding = /block_binding|thinking-binding|anthropic-beta|beta flag/i

export const effortFields = [
  'reasoning_effort',
  'reasoning.effort',
  'output_config.effort',
  'generationConfig.thinkingConfig.thinkingLevel',
  'additionalModelRequestFields.reasoning_effort',
  'think',
]

/** The words for effort that a server says it takes: those after the one that it refuses. */
export const effortsIn = (text: string, body: JsonObject): EffortWord[] => {
  const [, list = ''] =
    /(?:supported|valid|allowed|accepted|expected|permitted|should be|must be|one of)([\s\S]*)$/i.exec(
      text,
    ) ?? []
  const refused = effortFields.map((path) => String(valueAt(body, path)).toLowerCase())
  return anyEffort.filter((word) => !refused.includes(word) && new RegExp(`\\b${word}\\b`, 'i').test(list))
}

/** The body with the nearest effort to the one that was refused; without one where the server names none. */
export const withNearestEffort = (body: JsonObject, takes: readonly EffortWord[]): JsonObject =>
  effortFields.reduce((next, path) => withValueAt(next, path, nearestWord(valueAt(next, path), takes)), body)

const nearestWord = (value: JsonValue | undefined, takes: readonly EffortWord[]): JsonValue | undefined => {
  if (typeof value !== 'string') return value
  const wanted = anyEffort.find((word) => word === value.toLowerCase())
  if (wanted === undefined || takes.includes(wanted)) return takes.length > 0 ? value : undefined
  const word = wanted === 'none' ? takes[0] : effortFor({ effort: wanted }, takes)
  return value === value.toUpperCase() ? word?.toUpperCase() : word
}
