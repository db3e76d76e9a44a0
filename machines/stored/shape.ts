import { isJsonObject } from '../../src/messages/json.ts'
import { messageRule, partFlaw } from '../../src/messages/messageFlaw.ts'
import { listOf, object, type Rule, rule, wholeFrom } from '../../src/messages/optionRules.ts'

// The rules for stored data: those for options, and what only stored data needs.
export { flag, listOf, object, oneOf, type Rule, text } from '../../src/messages/optionRules.ts'

export const number = rule('a finite number', Number.isFinite)
export const count = wholeFrom(0)

export const orNull =
  (each: Rule): Rule =>
  (name, value) =>
    value === null ? undefined : each(name, value)

/** An object with values of one kind. */
export const recordOf =
  (each: Rule): Rule =>
  (name, value) =>
    object(name, value) ??
    Object.entries(Object(value))
      .map(([key, inner]) => each(`${name}.${key}`, inner))
      .find((problem) => problem !== undefined)

/** An object that has all of these, and perhaps more. */
export const fields = (rules: Readonly<Record<string, Rule>>): Rule => {
  const entries = Object.entries(rules)
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

export const message: Rule = messageRule

/** A list that grows in runs. */
export const runsOf = (each: Rule): Rule => listOf(listOf(each))

/** A part of a message of this type. */
export const part =
  (type: string): Rule =>
  (name, value) => {
    if (!isJsonObject(value) || value.type !== type) return `${name} is not a part of type ${type}.`
    const flaw = partFlaw(value)
    return flaw && `${name}: ${flaw}`
  }
