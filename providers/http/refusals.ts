import type { ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { Warning } from '../../src/messages/result.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { hasDeferred, withAllTools } from '../../src/model/deferredTools.ts'
import { hasChanges, withoutChanges } from '../../src/model/promptChange.ts'
import { anyEffort, type EffortWord, effortFor } from '../models/modelFacts.ts'
import { isFailedCall } from '../wire/error.ts'
import { withSchemaInstruction } from '../wire/request.ts'
import { type Setting, settingFields, valueAt, withValueAt } from '../wire/settings.ts'
import { foreignThinking, withoutThinking } from './thinkingBlocks.ts'
import { hasOddNames, withPlainNames } from './toolNames.ts'

/** A setting that a server refused, and what its words say about the values that it takes. Plain JSON. */
export type Lesson = {
  /** The row of the table that knows the change. */
  row: string
  /** The server's words. */
  refusal: string
  /** The words for effort that it takes. */
  takes?: EffortWord[]
  /** The most tokens of an answer. */
  limit?: number
  /** The schemas or the blocks that it refuses; without it, all of them. */
  only?: string[]
}

/** A request on its way: in the engine's terms, and its body on the wire. */
export type Sent = { request: ModelRequest; body: JsonObject }

/** A row of the table: the words of a refusal, and the change after it. */
type Row = {
  name: string
  /** The name of the setting in a warning. */
  setting: string
  change: Warning['change']
  /** The sentence of the warning after the model's name. */
  said: string
  /** True where these words, of a server that got this request, are about this setting. */
  isRefused(text: string, sent: Sent): boolean
  /** The details of the refusal that are remembered. */
  learn?(text: string, sent: Sent): Pick<Lesson, 'takes' | 'limit' | 'only'>
  /** The request without what was refused; the same where it has nothing of it. */
  request?(request: ModelRequest, lesson: Lesson): ModelRequest
  /** The body without what was refused, where only the body has it; the same where it has nothing of it. */
  body?(body: JsonObject, lesson: Lesson): JsonObject
}

/** The words with which servers refuse a field or its value. */
const refusing =
  /unsupported|not support|n't support|not (?:currently |yet )?(?:permitted|allowed|available|accepted|enabled|implemented|compatible|recogni[sz]ed|valid)|unavailable|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|extraneous|deprecated|cannot|can't|may (?:only|not) be|incompatible|no longer|\bonly\b|invalid|no endpoints found|must (?:be|not)|should (?:be|not)|disabled for|expected one of|mutually exclusive/i

/** The words about a number that is too large or too small: the mistake is the caller's, and the setting is taken. */
const outOfRange =
  /\brange\b|between|at (?:least|most)|(?:less|greater|larger|smaller|higher|lower) than|too (?:large|big|small|high|low|many)|[<>]=?\s*-?\d|exceed|maximum (?:value|length)|minimum value/i

const isRefusal = (text: string, named: RegExp): boolean => named.test(text) && refusing.test(text)

const has = ({ body }: Sent, paths: readonly string[]): boolean =>
  paths.some((path) => valueAt(body, path) !== undefined)

const without = (body: JsonObject, paths: readonly string[]): JsonObject =>
  paths.reduce((rest, path) => withValueAt(rest, path, undefined), body)

/** A setting that is left out for good. */
const leftOut = (
  setting: Setting,
  named: RegExp,
  more: { always?: RegExp; takesRange?: boolean } = {},
): Row => ({
  name: setting,
  setting,
  change: 'omitted',
  said: `refuses ${setting}: it is left out.`,
  isRefused: (text, sent) =>
    has(sent, settingFields[setting]) &&
    (more.always?.test(text) === true ||
      (isRefusal(text, named) && (more.takesRange !== true || !outOfRange.test(text)))),
  body: (body) => without(body, settingFields[setting]),
})

const effortFields = [
  'reasoning_effort',
  'reasoning.effort',
  'output_config.effort',
  'generationConfig.thinkingConfig.thinkingLevel',
  'additionalModelRequestFields.reasoning_effort',
]

const tokenFields = ['max_tokens', 'max_completion_tokens']

const limits = [
  /max_(?:completion_|output_)?tokens:? \d+ > (\d+)/i,
  /supports at most (\d+) (?:completion|output) tokens/i,
  /(?:requested )?exceeds the model limit of (\d+)/i,
  /max_(?:completion_|output_)?tokens`? must be less than or equal to `?(\d+)/i,
]

const limitIn = (text: string): number | undefined => {
  const found = limits.map((pattern) => pattern.exec(text)?.[1]).find((digits) => digits !== undefined)
  return found === undefined ? undefined : Number(found)
}

/** A schema that the server cannot use; another one may do. */
const aboutOneSchema =
  /compiled grammar|grammar compilation|too many (?:optional )?parameters|schema is too complex|too many states|invalid schema for response_format|schema produces a constraint|schema exceeds|invalid json[_ ]schema/i

const aboutSchemas =
  /response[_ ]?format|json[_ ]?schema|response[_ ]?mime[_ ]?type|response_?schema|output_config|output_format|structured[_ ]outputs?|json mode|text\.format|guided[_ ](?:json|decoding)|['"`]format['"`]/i

const schemaOf = ({ outputSchema }: ModelRequest): string => JSON.stringify(outputSchema ?? null)

/** A request with the schema of its answer as an instruction. */
const instructed = ({ outputSchema, ...request }: ModelRequest): ModelRequest => ({
  ...request,
  messages: withSchemaInstruction(request.messages, outputSchema ?? {}),
})

/** The table, the more special rows first: a server often names two settings that exclude each other. */
const rows: readonly Row[] = [
  {
    name: 'thinkingBlocks',
    setting: 'history',
    change: 'omitted',
    said: 'refuses thinking that belongs to another conversation: it is left out of the history.',
    isRefused: (text, { request }) =>
      /bound to a different conversation|invalid `?signature`? in `?(?:redacted_)?thinking`? block|`?thinking`? (?:or `?redacted_thinking`? )?blocks .{0,80}cannot be modified|thought signature is not valid|encrypted content .{0,60}could not be (?:verified|decrypted)/i.test(
        text,
      ) && foreignThinking(request).length > 0,
    learn: (_, { request }) => ({ only: foreignThinking(request) }),
    request: (request, { only = [] }) => withoutThinking(request, new Set(only)),
  },
  {
    name: 'toolNames',
    setting: 'tools',
    change: 'replaced',
    said: 'refuses the name of a tool: it gets a plainer one.',
    isRefused: (text, { request }) =>
      hasOddNames(request) &&
      /(?:function|tool)s?[ _]?names?|(?:tools?|function_declarations|functions)[\w[\].]*\.name|toolSpec\.name|'name'/i.test(
        text,
      ) &&
      /pattern|regular expression|must (?:be|start|match|contain|only)|should (?:match|be)|a-z|alpha-?n?u?meric|invalid|too long|length/i.test(
        text,
      ),
    request: withPlainNames,
  },
  {
    name: 'promptChanges',
    setting: 'history',
    change: 'replaced',
    said: 'takes no change in the middle of a conversation: its beginning changes instead.',
    isRefused: (text, { request }) =>
      hasChanges(request) && /\bsystem\b|tool_(?:addition|removal|definition)|anthropic-beta/i.test(text),
    request: withoutChanges,
  },
  {
    name: 'deferredTools',
    setting: 'deferred',
    change: 'replaced',
    said: 'does not load tools on demand: it gets all of them.',
    isRefused: (text, { request }) =>
      hasDeferred(request) && /defer_loading|tool_reference|additional_tools/i.test(text),
    request: withAllTools,
  },
  {
    name: 'summary',
    setting: 'thinking',
    change: 'replaced',
    said: 'gives no summary of its thinking to this account: none is asked for.',
    isRefused: (text, sent) =>
      has(sent, ['reasoning.summary']) && /reasoning summar|reasoning\.summary/i.test(text),
    body: (body) => without(body, ['reasoning.summary']),
  },
  {
    name: 'outputLimit',
    setting: 'maxOutputTokens',
    change: 'replaced',
    said: 'gives shorter answers than maxOutputTokens asks for: its own limit is sent.',
    isRefused: (text, sent) => limitIn(text) !== undefined && has(sent, settingFields.maxOutputTokens),
    learn: (text) => ({ limit: limitIn(text) ?? 0 }),
    body: (body, { limit = 0 }) =>
      settingFields.maxOutputTokens.reduce(
        (next, path) => (Number(valueAt(next, path)) > limit ? withValueAt(next, path, limit) : next),
        body,
      ),
  },
  {
    name: 'tokensField',
    setting: 'maxOutputTokens',
    change: 'replaced',
    said: 'takes the longest answer under another name: maxOutputTokens goes there.',
    isRefused: (text, sent) =>
      has(sent, tokenFields) && isRefusal(text, /max_(?:completion_)?tokens/i) && !outOfRange.test(text),
    learn: (_, { body }) => ({ only: tokenFields.filter((field) => body[field] !== undefined) }),
    body: (body, { only: [field = ''] = [] }) => {
      const value = body[field]
      const other = tokenFields.find((each) => each !== field) ?? ''
      return value === undefined ? body : { ...without(body, [field]), [other]: value }
    },
  },
  {
    name: 'streamOptions',
    setting: 'usage',
    change: 'omitted',
    said: 'refuses stream_options: it may not report its usage.',
    isRefused: (text, sent) =>
      has(sent, ['stream_options']) && isRefusal(text, /stream[_ ]?options|include_usage/i),
    body: (body) => without(body, ['stream_options']),
  },
  leftOut('parallelToolCalls', /parallel[_ ]?tool[_ ]?(?:calls?|use)/i),
  {
    ...leftOut(
      'toolChoice',
      /tool[_ ]?choice|function[_ ]?calling[_ ]?config|forc(?:es|ed|ing) (?:a )?(?:tool|function)/i,
    ),
    change: 'replaced',
    said: 'cannot be made to call a tool: toolChoice is "auto" instead.',
  },
  leftOut('topP', /top_?p\b|['"`]p['"`]/i, { takesRange: true, always: /top_p.{0,60}or unset/i }),
  leftOut('temperature', /temperature/i, { takesRange: true }),
  leftOut('seed', /\b(?:random_)?seed\b/i, { takesRange: true }),
  leftOut(
    'stopSequences',
    /stop[_ ]?sequences?|['"`]stop['"`]|(?:parameters?|arguments?|model|body|field):? ?\.?stop\b|\bstop\b.{0,20}(?:parameter|not supported)|body\.stop\b/i,
    {
      takesRange: true,
    },
  ),
  {
    name: 'outputSchema',
    setting: 'outputSchema',
    change: 'replaced',
    said: 'does not take this JSON Schema for its answer: it gets the schema as an instruction.',
    isRefused: (text, { request }) =>
      request.outputSchema !== undefined && (aboutOneSchema.test(text) || isRefusal(text, aboutSchemas)),
    learn: (text, { request }) => (aboutOneSchema.test(text) ? { only: [schemaOf(request)] } : {}),
    request: (request, { only }) =>
      request.outputSchema && (only?.includes(schemaOf(request)) ?? true) ? instructed(request) : request,
  },
  {
    name: 'effort',
    setting: 'thinking',
    change: 'replaced',
    said: 'does not take this amount of thinking: it gets the nearest that it takes, or its own.',
    isRefused: (text, sent) =>
      has(sent, effortFields) && isRefusal(text, /effort|thinking[_ ]?level|['"`]reasoning['"`]/i),
    learn: (text, sent) => {
      const takes = effortsIn(text, sent)
      return takes.length > 0 ? { takes } : {}
    },
    body: (body, { takes = [] }) =>
      effortFields.reduce(
        (next, path) => withValueAt(next, path, nearestWord(valueAt(next, path), takes)),
        body,
      ),
  },
  leftOut('thinking', /think|reasoning|budget_tokens|chat_template_kwargs/i),
]

/** The words for effort that a server says it takes: those after the one that it refuses. */
const effortsIn = (text: string, sent: Sent): EffortWord[] => {
  const [, list = ''] =
    /(?:supported|valid|allowed|accepted|expected|permitted|should be|must be|one of)([\s\S]*)$/i.exec(
      text,
    ) ?? []
  const refused = effortFields.map((path) => String(valueAt(sent.body, path)).toLowerCase())
  return anyEffort.filter((word) => !refused.includes(word) && new RegExp(`\\b${word}\\b`, 'i').test(list))
}

const nearestWord = (value: JsonValue | undefined, takes: readonly EffortWord[]): JsonValue | undefined => {
  if (typeof value !== 'string') return value
  const wanted = anyEffort.find((word) => word === value.toLowerCase())
  if (wanted === undefined || takes.includes(wanted)) return takes.length > 0 ? value : undefined
  const word = wanted === 'none' ? takes[0] : effortFor({ effort: wanted }, takes)
  return value === value.toUpperCase() ? word?.toUpperCase() : word
}

/** The statuses of a refused request; a server without a status says it inside a stream. */
const refusals: ReadonlySet<number | undefined> = new Set([undefined, 400, 404, 405, 422, 500, 501])

/** The change that the error of a server asks for; undefined if it is about something else, or was made already. */
export const lessonOf = (error: ErrorData, sent: Sent, known: readonly Lesson[]): Lesson | undefined => {
  const { status, code, message: text } = error
  if (!refusals.has(status) || error.name !== 'ModelError' || code === 'context_overflow') return undefined
  if (isFailedCall(code)) return undefined
  const row = rows.find((each) => each.isRefused(text, sent))
  if (!row) return undefined
  const lesson = { row: row.name, refusal: text.slice(0, longestRefusal), ...row.learn?.(text, sent) }
  const isKnown = known.some(
    (each) => each.row === row.name && (each.only === undefined || covers(each, lesson)),
  )
  return isKnown ? undefined : lesson
}

const longestRefusal = 500

const covers = (known: Lesson, { only = [''] }: Lesson): boolean =>
  only.every((each) => known.only?.includes(each))

/** A change that a lesson made to a request. */
export type Applied = Pick<Row, 'setting' | 'change' | 'said'> & { refusal: string }

/** A request after the lessons about it, and the changes that they made. */
export const requestAfter = (request: ModelRequest, lessons: readonly Lesson[]): [ModelRequest, Applied[]] =>
  changedBy(request, lessons, (row, request, lesson) => row.request?.(request, lesson) ?? request)

/** A body after the lessons about it, and the changes that they made. */
export const bodyAfter = (body: JsonObject, lessons: readonly Lesson[]): [JsonObject, Applied[]] =>
  changedBy(body, lessons, (row, body, lesson) => row.body?.(body, lesson) ?? body)

const changedBy = <T>(
  before: T,
  lessons: readonly Lesson[],
  change: (row: Row, value: T, lesson: Lesson) => T,
): [T, Applied[]] => {
  const applied: Applied[] = []
  let value = before
  for (const lesson of lessons) {
    const row = rows.find(({ name }) => name === lesson.row)
    const next = row ? change(row, value, lesson) : value
    if (!row || isSame(next, value)) continue
    value = next
    applied.push({ setting: row.setting, change: row.change, said: row.said, refusal: lesson.refusal })
  }
  return [value, applied]
}

/** A body is rebuilt along the path of a field: only the fields show whether anything was left out. */
const isSame = (next: unknown, value: unknown): boolean =>
  next === value || JSON.stringify(next) === JSON.stringify(value)

/** The lessons of this process, by server and model. The oldest go first: a program may name models without end. */
const remembered = new Map<string, readonly Lesson[]>()
const mostModels = 500

export const lessonsFor = (key: string): readonly Lesson[] => remembered.get(key) ?? []

/** Keeps lessons that have proved right: the server took the request that followed them. */
export const remember = (key: string, lessons: readonly Lesson[]): void => {
  const all = [...lessonsFor(key), ...lessons]
  // Refused blocks and schemas are of single conversations: they must not push out what counts for all.
  const single = all.filter(({ only }) => only !== undefined)
  remembered.delete(key)
  remembered.set(key, [...all.filter(({ only }) => only === undefined), ...single.slice(-mostSingle)])
  const [oldest] = remembered.keys()
  if (remembered.size > mostModels && oldest !== undefined) remembered.delete(oldest)
}

const mostSingle = 200
