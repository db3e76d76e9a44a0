import { isJsonObject } from '../messages/json.ts'
import { inSigns } from './arithmetic.ts'
import { type Facts, factsOf, mergeFacts } from './facts.ts'
import { countOfSubjects, fillSchema, type Source } from './fillSchema.ts'
import type { OfferedTool, PlannedCall } from './request.ts'

export type Plan = {
  calls: PlannedCall[]
  /** Tools that fit, but need something that was not named. */
  lacking: OfferedTool[]
}

/** The calls that a question asks for: each tool that fits, once for each thing it is asked about. */
export const planCalls = (
  question: string,
  tools: readonly OfferedTool[],
  earlier: readonly string[] = [],
): Plan => {
  const clauses = clausesOf(question)
  const whole = factsOf(question)
  const before = earlier.toReversed().map(factsOf)
  const calls: PlannedCall[] = []
  const lacking: OfferedTool[] = []
  for (const tool of tools) {
    const own = clausesFor(tool, clauses, tools)
    if (own.length === 0) continue
    const facts = mergeFacts(factsOf(own.join(', ')), whole, ...before)
    const made = callsOf(tool, { ...facts, text: question })
    calls.push(...made)
    if (made.length === 0) lacking.push(tool)
  }
  return { calls, lacking }
}

/** A call of the tool for any question: what is not named there gets a stand-in. */
export const forcedCall = ({ name, parameters }: OfferedTool, source: Source): PlannedCall => {
  const { value } = fillSchema(parameters, source)
  return { name, arguments: isJsonObject(value) ? value : {} }
}

const callsOf = ({ name, parameters }: OfferedTool, facts: Facts): PlannedCall[] => {
  const source = { facts, records: [], sentence: '' }
  const made = new Map<string, PlannedCall>()
  for (let nth = 0; nth < countOfSubjects(parameters, source); nth++) {
    const { value, isGuess } = fillSchema(parameters, source, nth)
    if (!isGuess && isJsonObject(value)) made.set(JSON.stringify(value), { name, arguments: value })
  }
  return [...made.values()]
}

/** Parts of a question that may each want another tool. "Between 1 and 9" stays whole, and so does "3.5". */
const clausesOf = (question: string): string[] =>
  question
    .split(/[,;](?=\s)|[.?!](?=\s|$)|(?<!\d)\s+and\s+|\s+and\s+(?!\d)/)
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '')

/** The clauses about a tool: those that fit it, and those after them that fit none ("in Oslo and Rome"). */
const clausesFor = (
  tool: OfferedTool,
  clauses: readonly string[],
  tools: readonly OfferedTool[],
): string[] => {
  let isOwn = false
  return clauses.filter((clause) => {
    const fitting = tools.filter((each) => fits(each, clause))
    if (fitting.length > 0) isOwn = fitting.includes(tool)
    return isOwn
  })
}

const fits = (tool: OfferedTool, clause: string): boolean =>
  fitsShape(tool, clause) || fitsWords(tool, clause)

/** A calculation wants a tool that takes expressions, a file one that takes paths, "5 miles to km" one that converts. */
const fitsShape = ({ parameters }: OfferedTool, clause: string): boolean => {
  const names = Object.keys(isJsonObject(parameters.properties) ? parameters.properties : {})
  const { expressions, files, conversion, places } = factsOf(clause)
  const has = (name: string) => names.includes(name)
  if (expressions.length > 0) return has('expression')
  if (files.length > 0) return has('path') || has('file')
  return conversion !== undefined && !places.includes(conversion.to) && has('from') && has('to')
}

const fitsWords = ({ name, description }: OfferedTool, clause: string): boolean => {
  const asked = stemsOf(inSigns(clause))
  const inName = stemsOf(name).some((stem) => asked.some((word) => isSame(word, stem)))
  if (inName) return true
  const shared = stemsOf(description).filter((stem) => asked.some((word) => isSame(word, stem)))
  return new Set(shared).size >= 2
}

const empty = new Set(
  'a an the of in on at to for from by with and or is are be it its this that what which who how many much do does can could i me my you your please get set fetch make give tell show use current now one some any all as into than'.split(
    ' ',
  ),
)

const synonyms = new Map(
  Object.entries({
    warm: 'weather',
    cold: 'weather',
    temperature: 'weather',
    rain: 'weather',
    forecast: 'weather',
    clock: 'time',
    hour: 'time',
    compute: 'calculate',
    open: 'read',
  }),
)

const stemsOf = (text: string): string[] =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word.length > 1 && !empty.has(word))
    .map((word) => synonyms.get(word) ?? word)
    .map((word) => word.replace(/(?<=\p{L}{2})(?:ies|es|s|e|y)$/u, ''))

/** The same word, or the same root: "calculate" and "calculator". */
const isSame = (a: string, b: string): boolean =>
  a === b || (a.length > 5 && b.length > 5 && a.slice(0, 6) === b.slice(0, 6))
