import type { ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { PrefixDifference } from '../../src/model/delta.ts'
import { isFailedAnswer } from '../wire/error.ts'
import { conversationOf, hashOf, schemaDifference } from '../wire/request.ts'
import { valueAt } from '../wire/settings.ts'
import { withoutEcho } from './echo.ts'
import { type Lesson, type Row, refusalTable, type Sent } from './refusalTable.ts'

export type { Lesson, Sent } from './refusalTable.ts'

// The settings that servers refused in this process: what is learnt from a refusal, and the requests after it.

/** The statuses of a refused request; a server without a status says it inside a stream. */
const refusals: ReadonlySet<number | undefined> = new Set([undefined, 400, 404, 405, 422, 500, 501])

/** The codes of an error that is about something else, whatever its words name. */
const otherCodes: ReadonlySet<string | undefined> = new Set([
  'context_overflow',
  'invalid_prompt',
  'content_filter',
  'content_policy_violation',
  'model_not_found',
  'model_not_supported',
])

/** The words about a prompt that breaks a rule, and about an answer that the model got wrong. */
const aboutPrompt =
  /failed_generation|\bflagged\b|content (?:management )?policy|usage polic|safety (?:system|filter)/i

/** A place in the messages or in the tools, which a user has written and which a server may repeat word for word. */
const inside =
  /\b(?:messages|contents|input|tools|function_declarations)(?:[.[/]|['"], ?)\d|invalid schema for function|\btools?\.(?:function|custom)\b/i

const aboutContent = /^(?:messages|input|contents|tools|system|instructions|prompt)\b/

/** The refusal of a server: what it says, and the field that it names beside that. */
export type Refusal = { error: ErrorData; param?: string | undefined; model: string }

/** The change that the error of a server asks for; undefined if it is about something else, or was made already. */
export const lessonOf = (
  { error, param, model }: Refusal,
  sent: Sent,
  known: readonly Lesson[],
): Lesson | undefined => {
  const { status, code, message } = error
  if (!refusals.has(status) || error.name !== 'ModelError' || otherCodes.has(code)) return undefined
  if (isFailedAnswer(code) || param === 'prompt' || aboutPrompt.test(message)) return undefined
  // A field that is named beside the words is the server's own statement, whatever the user wrote.
  const isOfSetting =
    param !== undefined && !aboutContent.test(param) && valueAt(sent.body, param) !== undefined
  const said = isOfSetting ? message : withoutEcho(message, sent.request)
  const text = wordsOf(param === undefined ? said : `'${param}': ${said}`, model)
  const isInside = inside.test(text)
  const row = refusalTable.find((each) => (!isInside || each.isInside) && each.isRefused(text, sent))
  if (!row) return undefined
  const lesson = { row: row.name, refusal: message.slice(0, longestRefusal), ...row.learn?.(text, sent) }
  const isKnown = known.some(
    (each) => each.row === row.name && (each.only === undefined || covers(each, lesson)),
  )
  return isKnown ? undefined : lesson
}

const longestRefusal = 500

/** The words of a refusal. Names of models and of pages are full of settings: `kimi-k2-thinking`, `guides/reasoning`. */
const wordsOf = (text: string, model: string): string => {
  const short = model.slice(model.lastIndexOf('/') + 1)
  return text
    .replace(/https?:\/\/\S+/g, '')
    .replaceAll(model, '')
    .replaceAll(short === '' ? model : short, '')
    .replace(/\bmodel[:=]?\s*(?:['"`][\w.:@]*[-/][\w./:@-]*|['"`]?[\w./:@-]*\d[\w./:@-]*)/gi, 'model')
}

/** The headers after the lessons: without the betas that are refused. */
export const headersAfter = (
  headers: Record<string, string> | undefined,
  lessons: readonly Lesson[],
): Record<string, string> | undefined => {
  const refused = new Set(
    lessons.flatMap((lesson) => refusalTable.find(({ name }) => name === lesson.row)?.beta ?? []),
  )
  const { [betaHeader]: betas, ...others } = headers ?? {}
  if (betas === undefined || refused.size === 0) return headers
  const left = betas.split(',').filter((beta) => !refused.has(beta))
  return left.length > 0 ? { ...others, [betaHeader]: left.join(',') } : others
}

const betaHeader = 'anthropic-beta'

const covers = (known: Lesson, { only = [''] }: Lesson): boolean =>
  only.every((each) => known.only?.includes(each))

/** A change that a lesson made to a request. */
type Applied = Pick<Row, 'setting' | 'change' | 'said'> & {
  refusal: string
  differences: PrefixDifference[]
}

/** A request after the lessons about it, and the changes that they made. */
export const requestAfter = (request: ModelRequest, lessons: readonly Lesson[]): [ModelRequest, Applied[]] =>
  changedBy(
    request,
    lessons,
    (row, request, lesson) => row.request?.(request, lesson) ?? request,
    differencesBy,
  )

/** A body after the lessons about it, and the changes that they made. */
export const bodyAfter = (body: JsonObject, lessons: readonly Lesson[]): [JsonObject, Applied[]] =>
  changedBy(
    body,
    lessons,
    (row, body, lesson) => row.body?.(body, lesson) ?? body,
    () => [],
  )

/** The parts of what a request begins with that a lesson changed. */
const differencesBy = (
  { row, only = [] }: Lesson,
  before: ModelRequest,
  after: ModelRequest,
): PrefixDifference[] => {
  if (before.outputSchema && !after.outputSchema)
    return schemaDifference(before.messages, before.outputSchema).differences ?? []
  const isSamePart = {
    system: conversationOf(before.messages).system === conversationOf(after.messages).system,
    tools: isSame(before.tools, after.tools),
    history: isSame(conversationOf(before.messages).turns, conversationOf(after.messages).turns),
  }
  const parts = (['system', 'tools', 'history'] as const).filter((part) => !isSamePart[part])
  return parts.map((part) => ({ part, by: `${row} ${hashOf(only.join(' '))}` }))
}

const changedBy = <T>(
  before: T,
  lessons: readonly Lesson[],
  change: (row: Row, value: T, lesson: Lesson) => T,
  differencesOf: (lesson: Lesson, before: T, after: T) => PrefixDifference[],
): [T, Applied[]] => {
  const applied: Applied[] = []
  let value = before
  for (const lesson of lessons) {
    const row = refusalTable.find(({ name }) => name === lesson.row)
    const next = row ? change(row, value, lesson) : value
    if (!row || isSame(next, value)) continue
    const { setting, change: kind, said } = row
    const differences = differencesOf(lesson, value, next)
    applied.push({ setting, change: kind, said, refusal: lesson.refusal, differences })
    value = next
  }
  return [value, applied]
}

/** A body is rebuilt along the path of a field: only the fields show whether anything was left out. */
const isSame = (next: unknown, value: unknown): boolean =>
  next === value || JSON.stringify(next) === JSON.stringify(value)

/** The lessons of this process, by server and model. The oldest go first: a program may name models without end. */
const remembered = new Map<string, readonly Lesson[]>()
const mostModels = 500
const mostSingle = 200

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
