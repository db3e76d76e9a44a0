import { ConfigurationError } from './errors.ts'
import { adviceOn, nearest } from './optionNames.ts'

/** Says what is wrong with the value of an option, in a whole sentence; undefined if nothing is. */
export type Rule = (name: string, value: unknown) => string | undefined

/** A rule for each option. An option that is undefined counts as absent, and is not checked. */
export type Rules<Options extends object> = Readonly<Record<keyof Options & string, Rule>>

/** Refuses options that cannot work, before they make a run hang or throw. */
export const checkOptions = <Options extends object>(
  what: string,
  options: unknown,
  rules: Rules<Options>,
): void => {
  checkValue(what, options, (name, value) => {
    const given = Object(value)
    return object(name, value) ?? unknownOption(name, given, rules) ?? firstProblem(given, rules, '')
  })
}

/** Checks some of the options, and ignores the others. */
export const checkSome = (what: string, options: unknown, rules: Readonly<Record<string, Rule>>): void => {
  checkValue(what, options, (name, value) => object(name, value) ?? firstProblem(Object(value), rules, ''))
}

/** Refuses an option that does not exist: a misspelled one would be ignored in silence. */
export const unknownOption = (
  name: string,
  options: object,
  known: Readonly<Record<string, unknown>>,
): string | undefined => {
  const unknown = Object.keys(options).find(
    (key) => !Object.hasOwn(known, key) && Reflect.get(options, key) !== undefined,
  )
  if (unknown === undefined) return undefined
  return `${name} cannot have "${unknown.slice(0, 40)}". ${adviceOn(unknown, Object.keys(known))}`
}

/** Refuses a value that must be there and cannot work. */
export const checkValue = (name: string, value: unknown, must: Rule): void => {
  const problem = must(name, value)
  if (problem) throw new ConfigurationError(problem)
}

const firstProblem = (options: object, rules: Readonly<Record<string, Rule>>, prefix: string) => {
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = Reflect.get(options, name)
    const problem = value === undefined ? undefined : rule(prefix + name, value)
    if (problem) return problem
  }
  return undefined
}

/** The kind of a value, in words. Texts are not quoted: one of them may be a key. */
const kindOf = (value: unknown): string => {
  if (value === null || value === undefined || typeof value === 'number') return String(value)
  if (Array.isArray(value)) return 'a list'
  if (isPromise(value)) return 'a promise: write await before it'
  return typeof value === 'string' ? 'a string' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

export const rule =
  (wanted: string, fits: (value: unknown) => boolean): Rule =>
  (name, value) =>
    fits(value) ? undefined : `${name} must be ${wanted}, not ${kindOf(value)}.`

const isPromise = (value: unknown): boolean => typeof Object(value).then === 'function'

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isPromise(value)

export const text = rule('a string', (value) => typeof value === 'string')
export const flag = rule('true or false', (value) => typeof value === 'boolean')
export const callable = rule('a function', (value) => typeof value === 'function')
export const object = rule('an object', isObject)

export const wholeFrom = (least: number): Rule =>
  rule(`a whole number, ${least} or more`, (value) => Number.isInteger(value) && Number(value) >= least)

export const wholeNumber = rule('a whole number', Number.isInteger)

/** An amount, such as a time: `Infinity` means no limit. */
export const amount = rule('a number, 0 or more', (value) => typeof value === 'number' && value >= 0)

export const finiteAmount = rule(
  'a finite number, 0 or more',
  (value) => Number.isFinite(value) && Number(value) >= 0,
)

/** A word among several. The error shows what was written instead: such a word is not a secret. */
export const oneOf =
  (...words: readonly string[]): Rule =>
  (name, value) => {
    if (words.some((word) => word === value)) return undefined
    const given = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : kindOf(value)
    const list = words.map((word) => `'${word}'`)
    return `${name} must be ${list.slice(0, -1).join(', ')} or ${list.at(-1)}, not ${given}.`
  }

/** Adds to a refusal what to write, if the value shows what was meant. */
export const orWrite =
  (must: Rule, instead: (value: unknown) => string | undefined): Rule =>
  (name, value) => {
    const problem = must(name, value)
    const meant = problem && !isPromise(value) && instead(value)
    return meant ? `${problem.replace(/\.$/, '')}: write ${meant}.` : problem
  }

/** Refuses an option that belongs elsewhere, and shows what to write: it would have no effect here. */
export const writtenAs =
  (instead: string): Rule =>
  (name) =>
    `${name} is not an option here: write ${instead}.`

/** An object of options, and of nothing else. */
export const fields =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (name, value) =>
    isObject(value)
      ? (unknownOption(name, value, rules) ?? firstProblem(value, rules, `${name}.`))
      : object(name, value)

/**
 * An object of a caller that may have these members, and members of its own. A name that is nearly one of these is a
 * mistake.
 */
export const members =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (name, value) =>
    isObject(value)
      ? (nearlyKnown(name, value, rules) ?? firstProblem(value, rules, `${name}.`))
      : object(name, value)

const nearlyKnown = (name: string, value: object, rules: Readonly<Record<string, Rule>>) => {
  const names = Object.keys(rules)
  const close = Object.keys(value).find((key) => !names.includes(key) && nearest(key, names, 2))
  return close && unknownOption(name, { [close]: true }, rules)
}

/** An object that has all of these methods. */
export const having =
  (...methods: readonly string[]): Rule =>
  (name, value) => {
    const lacking = methods.find((method) => typeof Reflect.get(Object(value), method) !== 'function')
    return object(name, value) ?? (lacking && `${name} has no function "${lacking}".`)
  }

/** An object that must have this, and what it must be. */
export const member =
  (key: string, each: Rule): Rule =>
  (name, value) =>
    object(name, value) ?? each(`${name}.${key}`, Reflect.get(Object(value), key))

/** An object that must have this and nothing else. */
export const only =
  (key: string, each: Rule): Rule =>
  (name, value) =>
    member(key, each)(name, value) ?? fields({ [key]: each })(name, value)

export const listOf =
  (each: Rule): Rule =>
  (name, value) => {
    if (!Array.isArray(value)) return `${name} must be a list, not ${kindOf(value)}.`
    for (const [index, item] of value.entries()) {
      const problem = each(`${name}[${index}]`, item)
      if (problem) return problem
    }
    return undefined
  }

/** The first rule for objects, the second for everything else. */
export const objectOr =
  (forObjects: Rule, otherwise: Rule): Rule =>
  (name, value) =>
    (isObject(value) ? forObjects : otherwise)(name, value)

/** Options over their defaults, where undefined counts as absent. */
export const withDefaults = <T extends object>(
  defaults: T,
  given: { [K in keyof T]?: T[K] | undefined } = {},
): T => ({
  ...defaults,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
})
