import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { messageRule, partFlaw } from '../../src/messages/messageFlaw.ts'
import type { ChatMessage, Part } from '../../src/messages/messages.ts'
import * as options from '../../src/messages/optionRules.ts'
import { type Rule, rule, wholeFrom } from '../../src/messages/optionRules.ts'

// The rules for stored data: those for options, and what only stored data needs. Each says which type it checks.

export type { Rule } from '../../src/messages/optionRules.ts'

/** A rule for data of a type. `of` is never there: it lets the compiler compare the rule with the type. */
export type Shape<T> = Rule & { readonly of?: T }

/** A rule that says less than a type, such as one that belongs to another layer. */
export const like = <T>(each: Rule): Shape<T> => each

export const text: Shape<string> = options.text
export const flag: Shape<boolean> = options.flag
export const number: Shape<number> = rule('a finite number', Number.isFinite)
export const count: Shape<number> = wholeFrom(0)
export const object: Shape<JsonObject> = options.object

export const oneOf = <const Word extends string>(...words: readonly Word[]): Shape<Word> =>
  options.oneOf(...words)

export const listOf = <T>(each: Shape<T>): Shape<T[]> => options.listOf(each)

export const orNull =
  <T>(each: Shape<T>): Shape<T | null> =>
  (name, value) =>
    value === null ? undefined : each(name, value)

/** A field that may be absent. */
export const optional =
  <T>(each: Shape<T>): Shape<T> =>
  (name, value) =>
    value === undefined ? undefined : each(name, value)

/** An object with values of one kind. */
export const recordOf =
  <T>(each: Shape<T>): Shape<{ [key: string]: T }> =>
  (name, value) =>
    object(name, value) ??
    Object.entries(Object(value))
      .map(([key, inner]) => each(`${name}.${key}`, inner))
      .find((problem) => problem !== undefined)

/**
 * An object that has all of these, and perhaps more. With a type, it has a rule for every field of it: one that is added to
 * the type without a rule does not compile, or a stored run that lacks it would be taken.
 */
export const fields = <T>(
  rules: {
    readonly [Key in keyof T]-?: Shape<Required<T>[Key]>
  },
): Shape<T> => {
  const entries: [string, Rule][] = Object.entries(rules)
  return (name, value) => {
    const problem = object(name, value)
    if (problem) return problem
    for (const [key, each] of entries) {
      const inner = each(name === '' ? key : `${name}.${key}`, Reflect.get(Object(value), key))
      if (inner) return inner
    }
    return undefined
  }
}

export const message: Shape<ChatMessage> = messageRule

/** A list that grows in runs. */
export const runsOf = <T>(each: Shape<T>): Shape<T[][]> => listOf(listOf(each))

/** A part of a message of this type. */
export const part =
  <Type extends Part['type']>(type: Type): Shape<Extract<Part, { type: Type }>> =>
  (name, value) => {
    if (!isJsonObject(value) || value.type !== type) return `${name} is not a part of type ${type}.`
    const flaw = partFlaw(value)
    return flaw && `${name}: ${flaw}`
  }
