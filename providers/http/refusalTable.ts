import type { JsonObject } from '../../src/messages/json.ts'
import type { Warning } from '../../src/messages/result.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { hasDeferred, withAllTools } from '../../src/model/deferredTools.ts'
import { hasChanges, withoutChanges } from '../../src/model/promptChange.ts'
import type { EffortWord } from '../models/modelFacts.ts'
import { bindingBeta } from '../wire/prefix.ts'
import { withSchemaInstruction } from '../wire/request.ts'
import { settingFields, valueAt, withValueAt } from '../wire/settings.ts'
import {
  aboutBinding,
  aboutChanges,
  aboutOneSchema,
  aboutSchemas,
  effortFields,
  effortsIn,
  inSchema,
  isRefusal,
  limitIn,
  namesOfSettings,
  outOfRange,
  withNearestEffort,
  withThinking,
} from './refusalWords.ts'
import { looseBody, refusesStrict, strictBody, wantsStrict } from './strictSchemas.ts'
import {
  foreignThinking,
  replaysThinking,
  withBlankThinking,
  withoutEncrypted,
  withoutThinking,
  withoutThinkingText,
} from './thinkingBlocks.ts'
import { hasOddNames, withPlainNames, withShortIds } from './toolNames.ts'

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
export type Row = {
  name: string
  /** The name of the setting in a warning. */
  setting: string
  change: Warning['change']
  /** The sentence of the warning after the model's name. */
  said: string
  /** The words may be about a message or a tool, where those of all others are about what the user wrote. */
  isInside?: true
  /** True where these words, of a server that got this request, are about this setting. */
  isRefused(text: string, sent: Sent): boolean
  /** The details of the refusal that are remembered. */
  learn?(text: string, sent: Sent): Pick<Lesson, 'takes' | 'limit' | 'only'>
  /** The request without what was refused; the same where it has nothing of it. */
  request?(request: ModelRequest, lesson: Lesson): ModelRequest
  /** The body without what was refused, where only the body has it; the same where it has nothing of it. */
  body?(body: JsonObject, lesson: Lesson): JsonObject
  /** The beta that is not named any more. */
  beta?: string
}

const has = ({ body }: Pick<Sent, 'body'>, paths: readonly string[]) =>
  paths.some((path) => valueAt(body, path) !== undefined)

const without = (body: JsonObject, paths: readonly string[]): JsonObject =>
  paths.reduce((rest, path) => withValueAt(rest, path, undefined), body)

/** A setting that is left out for good. */
const leftOut = (
  setting: keyof typeof namesOfSettings,
  more: { always?: RegExp; takesRange?: boolean } = {},
): Row => ({
  name: setting,
  setting,
  change: 'omitted',
  said: `refuses ${setting}: it is left out.`,
  isRefused: (text, sent) =>
    has(sent, settingFields[setting]) &&
    (more.always?.test(text) === true ||
      (isRefusal(text, namesOfSettings[setting]) && (more.takesRange !== true || !outOfRange.test(text)))),
  body: (body) => without(body, settingFields[setting]),
})

/** A body that does not name a beta; on the clouds betas are in the body. */
const withoutBeta = (body: JsonObject, beta: string): JsonObject =>
  Array.isArray(body.anthropic_beta)
    ? { ...body, anthropic_beta: body.anthropic_beta.filter((each) => each !== beta) }
    : body

const tokenFields = ['max_tokens', 'max_completion_tokens']

const schemaOf = ({ outputSchema }: ModelRequest): string => JSON.stringify(outputSchema ?? null)

/** The request with its schema as an instruction. */
const instructed = ({ outputSchema, ...request }: ModelRequest): ModelRequest => ({
  ...request,
  messages: withSchemaInstruction(request.messages, outputSchema ?? {}),
})

/** The table, the more special rows first: a server often names two settings that exclude each other. */
export const refusalTable: readonly Row[] = [
  {
    name: 'thinkingBlocks',
    setting: 'history',
    change: 'omitted',
    said: 'refuses thinking that belongs to another conversation: it is left out of the history.',
    isInside: true,
    isRefused: (text, { request }) =>
      /bound to a different conversation|invalid `?signature`? in `?(?:redacted_)?thinking`? block|`?thinking`? (?:or `?redacted_thinking`? )?blocks .{0,80}cannot be modified|thought signature is not valid|corrupted thought signature|encrypted content .{0,60}could not be (?:verified|decrypted)/i.test(
        text,
      ) && foreignThinking(request).length > 0,
    learn: (_, { request }) => ({ only: foreignThinking(request) }),
    request: (request, { only = [] }) => withoutThinking(request, new Set(only)),
  },
  {
    name: 'thinkingWanted',
    setting: 'history',
    change: 'replaced',
    said: 'wants the thinking of all its answers back: where there is none, it gets a blank one.',
    isInside: true,
    isRefused: (text, { body }) =>
      /reasoning_content\b.{0,80}must be passed back|missing .?reasoning_content|reasoning_content.? is missing/i.test(
        text,
      ) && withBlankThinking(body) !== body,
    body: withBlankThinking,
  },
  {
    name: 'thinkingText',
    setting: 'history',
    change: 'omitted',
    said: 'refuses the thinking of its own answers: it is left out of the history.',
    isInside: true,
    isRefused: (text, { body }) =>
      replaysThinking(body) &&
      isRefusal(text, /\breasoning(?:_content|_details)?\b/i) &&
      /\bmessages?\b|role:assistant/i.test(text),
    body: withoutThinkingText,
  },
  {
    name: 'callIds',
    setting: 'history',
    change: 'replaced',
    said: 'refuses the ids of tool calls: they get shorter ones.',
    isInside: true,
    isRefused: (text, { body }) =>
      /tool call id was .{1,200} but must be|tool_calls?.{0,20}\bid\b.{0,60}(?:too long|pattern|length)/i.test(
        text,
      ) && withShortIds(body) !== body,
    body: withShortIds,
  },
  {
    name: 'toolNames',
    setting: 'tools',
    change: 'replaced',
    said: 'refuses the name of a tool: it gets a plainer one.',
    isInside: true,
    isRefused: (text, { request }) =>
      hasOddNames(request) &&
      /(?:function|tool)s?[ _]?names?|(?:tools?|function_declarations|functions)[\w[\].]*\.name|toolSpec\.name|['"]name['"]/i.test(
        text,
      ) &&
      /pattern|regular expression|must (?:be|start|match|contain|only)|should (?:match|be)|a-z|alpha-?n?u?meric|invalid|too long|length/i.test(
        text,
      ),
    request: withPlainNames,
  },
  {
    name: 'looseSchemas',
    setting: 'strict',
    change: 'omitted',
    said: 'does not take strict: it is left out.',
    isInside: true,
    isRefused: refusesStrict,
    body: looseBody,
  },
  {
    name: 'strict',
    setting: 'strict',
    change: 'replaced',
    said: 'takes strict schemas only: every property is made required.',
    isInside: true,
    isRefused: wantsStrict,
    body: strictBody,
  },
  {
    name: 'promptChanges',
    setting: 'history',
    change: 'replaced',
    said: 'takes no change in the middle of a conversation: its beginning changes instead.',
    isInside: true,
    isRefused: (text, { request }) =>
      hasChanges(request) && aboutChanges.test(text) && !/block_binding|thinking-binding/.test(text),
    request: withoutChanges,
  },
  {
    name: 'blockBinding',
    setting: 'history',
    change: 'replaced',
    said: 'cannot drop thinking that belongs to another conversation: it is not asked to.',
    isRefused: (text, sent) => has(sent, ['thinking.block_binding']) && aboutBinding.test(text),
    body: (body) => withoutBeta(without(body, ['thinking.block_binding']), bindingBeta),
    beta: bindingBeta,
  },
  {
    name: 'cache',
    setting: 'cache',
    change: 'omitted',
    said: 'refuses what a cache needs: its prompts are not cached.',
    isInside: true,
    isRefused: (text, { request }) =>
      request.cache !== 'off' && isRefusal(text, /cache_control|cache_?point|prompt[_ ]cach/i),
    request: (request) => (request.cache === 'off' ? request : { ...request, cache: 'off' }),
  },
  {
    name: 'encryptedThinking',
    setting: 'thinking',
    change: 'omitted',
    said: 'does not give its thinking away: none goes back to it.',
    isRefused: (text, sent) =>
      has(sent, ['include']) &&
      isRefusal(text, /encrypted[_. ]content|(?:['"`]|argument.*: ?)include\b/i) &&
      !/verif|decrypt/i.test(text),
    body: withoutEncrypted,
  },
  {
    name: 'deferredTools',
    setting: 'deferred',
    change: 'replaced',
    said: 'does not load tools on demand: it gets all of them.',
    isInside: true,
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
      has(sent, tokenFields) &&
      isRefusal(text, /(?<!reasoning\.)max_(?:completion_)?tokens/i) &&
      !outOfRange.test(text),
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
  leftOut('parallelToolCalls'),
  {
    ...leftOut('toolChoice'),
    change: 'replaced',
    said: 'cannot be made to call a tool: toolChoice is "auto" instead.',
  },
  leftOut('topP', { takesRange: true, always: /top_p.{0,60}or unset/i }),
  leftOut('temperature', { takesRange: true }),
  leftOut('seed', { takesRange: true }),
  leftOut('stopSequences', { takesRange: true }),
  {
    name: 'outputSchema',
    setting: 'outputSchema',
    change: 'replaced',
    said: 'does not take this JSON Schema for its answer: it gets the schema as an instruction.',
    isRefused: (text, { request }) =>
      request.outputSchema !== undefined && (aboutOneSchema.test(text) || isRefusal(text, aboutSchemas)),
    learn: (text, { request }) =>
      aboutOneSchema.test(text) || inSchema.test(text) ? { only: [schemaOf(request)] } : {},
    request: (request, { only }) =>
      request.outputSchema && (only?.includes(schemaOf(request)) ?? true) ? instructed(request) : request,
  },
  {
    name: 'toolsWithoutThinking',
    setting: 'thinking',
    change: 'replaced',
    said: 'takes no tools while it thinks: it does not think.',
    isRefused: (text) => /set reasoning_effort to .?none/i.test(text),
    body: (body) => (has({ body }, ['tools']) ? { ...body, reasoning_effort: 'none' } : body),
  },
  {
    name: 'effort',
    setting: 'thinking',
    change: 'replaced',
    said: 'does not take this amount of thinking: it gets the nearest amount that it takes, or its default.',
    isRefused: (text, sent) =>
      has(sent, effortFields) &&
      isRefusal(
        text,
        /effort|thinking[_ ]?level|output_config|['"`]reasoning['"`]|(?:think|reasoning) value/i,
      ),
    learn: (text, sent) => {
      const takes = effortsIn(text, sent.body)
      return takes.length > 0 ? { takes } : {}
    },
    body: (body, { takes = [] }) => withNearestEffort(body, takes),
  },
  leftOut('thinking'),
  {
    // A turn that began without thinking cannot continue with it.
    ...leftOut('thinking'),
    isInside: true,
    isRefused: (text, sent) => has(sent, settingFields.thinking) && withThinking.test(text),
  },
]
