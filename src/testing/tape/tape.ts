import { ConfigurationError, describeThrown } from '../../messages/errors.ts'
import type { JsonValue } from '../../messages/json.ts'
import {
  checkValue,
  finiteAmount,
  listOf,
  member,
  oneOf,
  type Rule,
  rule,
  text,
} from '../../messages/optionRules.ts'

/** A request as it is kept: without its host and its headers, and without anything secret. */
export type TapedRequest = {
  method: string
  path: string
  /** The JSON that was sent, a text that is not JSON, or null. */
  body: JsonValue
}

/** Times are milliseconds since the request was made. */
export type TapedHead = { ms: number; status: number; statusText: string; headers: Record<string, string> }

/** A network read: as text if it is valid UTF-8 by itself, else in base64. */
export type TapedRead = { ms: number; text: string } | { ms: number; base64: string }

/** `aborted`: the client left. `broken`: the connection failed. */
export type TapedEnd =
  | { ms: number; how: 'complete' | 'aborted' }
  | { ms: number; how: 'broken'; code: string; message: string }

/** A request and what came back. Without a head nothing came. */
export type TapedExchange = { request: TapedRequest; head?: TapedHead; reads: TapedRead[]; end: TapedEnd }

/** Raised when an older tape can no longer be played. */
const version = 1

/** The largest tape, in bytes: a larger one does not belong in a repository. */
export const largestTape = 64 * 1024 * 1024

/**
 * The tape as JSON that people can read and compare: bodies of requests over many lines, each read of an answer on its
 * own line.
 */
const tapeText = (exchanges: readonly TapedExchange[]): string =>
  `{\n  "cassette": ${version},\n  "exchanges": [${exchanges.map((each) => `\n${exchangeText(each)}`).join(',')}\n  ]\n}\n`

const exchangeText = ({ request, head, reads, end }: TapedExchange): string => {
  const lines = [
    `"request": ${indented(JSON.stringify(request, null, 2))}`,
    ...(head ? [`"head": ${JSON.stringify(head)}`] : []),
    `"reads": [${reads.map((read) => `\n        ${JSON.stringify(read)}`).join(',')}\n      ]`,
    `"end": ${JSON.stringify(end)}`,
  ]
  return `    {\n      ${lines.join(',\n      ')}\n    }`
}

const indented = (json: string): string => json.replaceAll('\n', '\n      ')

/** Reads a tape back. `path` is for the errors. */
export const parseTape = (json: string, path: string): TapedExchange[] => {
  let tape: unknown
  try {
    tape = JSON.parse(json)
  } catch (cause) {
    throw new ConfigurationError(`${path} is not valid JSON. Delete it and record it again.`, { cause })
  }
  checkValue(path, tape, member('cassette', versionRule))
  checkValue(path, tape, member('exchanges', listOf(exchangeRule)))
  return (tape as { exchanges: TapedExchange[] }).exchanges
}

const versionRule: Rule = (name, value) =>
  value === version
    ? undefined
    : `${name} must be ${version}: this is not a cassette, or one of another version of statewire. Record it again.`

const all =
  (...rules: readonly Rule[]): Rule =>
  (name, value) => {
    for (const each of rules) {
      const problem = each(name, value)
      if (problem) return problem
    }
    return undefined
  }

/** The statuses that `Response` takes. */
const status = rule(
  'a status from 200 to 599',
  (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
)

const headers = rule(
  'an object of strings',
  (value) =>
    Object(value) === value && Object.values(Object(value)).every((each) => typeof each === 'string'),
)

const headRule = all(
  member('ms', finiteAmount),
  member('status', status),
  member('statusText', text),
  member('headers', headers),
)

const readRule: Rule = (name, value) =>
  member('ms', finiteAmount)(name, value) ??
  member('base64' in Object(value) ? 'base64' : 'text', text)(name, value)

const endRule: Rule = (name, value) =>
  all(member('ms', finiteAmount), member('how', oneOf('complete', 'aborted', 'broken')))(name, value) ??
  (Object(value).how === 'broken'
    ? all(member('code', text), member('message', text))(name, value)
    : undefined)

const body: Rule = (name, value) => (value === undefined ? `${name} is missing.` : undefined)

const exchangeRule = all(
  member('request', all(member('method', text), member('path', text), member('body', body))),
  (name, value) => (Object(value).head === undefined ? undefined : member('head', headRule)(name, value)),
  member('reads', listOf(readRule)),
  member('end', endRule),
)

/** Loads the module when it is needed: scripted models stay usable where there is no file system. */
const files = () => process.getBuiltinModule('node:fs')

export const hasTape = (path: string): boolean => files().existsSync(path)

export const readTape = (path: string): TapedExchange[] => {
  const { statSync, readFileSync } = files()
  let json: string
  try {
    const { size } = statSync(path)
    if (size > largestTape)
      throw new ConfigurationError(`${path} has ${size} bytes; a tape may have ${largestTape}.`)
    json = readFileSync(path, 'utf8')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(`${path} cannot be read: ${describeThrown(thrown)}`, { cause: thrown })
  }
  return parseTape(json, path)
}

/** Writes a tape. A reader meanwhile sees the old one or the new one, and never half of it. */
export const writeTape = (path: string, exchanges: readonly TapedExchange[]): void => {
  const { existsSync, mkdirSync, writeFileSync, renameSync, rmSync } = files()
  const { dirname } = process.getBuiltinModule('node:path')
  const text = tapeText(exchanges)
  if (text.length > largestTape)
    throw new ConfigurationError(
      `${path} would get larger than ${largestTape} bytes: use a tape for each test.`,
    )
  const unfinished = `${path}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(unfinished, text)
    renameSync(unfinished, path)
  } catch (thrown) {
    if (existsSync(unfinished)) rmSync(unfinished)
    throw new ConfigurationError(`${path} cannot be written: ${describeThrown(thrown)}`, { cause: thrown })
  }
}
