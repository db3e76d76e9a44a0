import { isJsonObject } from '../src/messages/json.ts'
import { messageFlaw, partFlaw } from '../src/messages/messageFlaw.ts'

/** Says what keeps a value from having a shape; undefined if it has it. */
export type Shape = (value: unknown, path: string) => string | undefined

const kindOf = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}

const must =
  (expected: string, is: (value: unknown) => boolean): Shape =>
  (value, path) =>
    is(value) ? undefined : `${path} is ${kindOf(value)}, not ${expected}`

export const text = must('text', (value) => typeof value === 'string')
export const flag = must('true or false', (value) => typeof value === 'boolean')
export const number = must('a number', (value) => typeof value === 'number' && Number.isFinite(value))
export const count = must('a whole number', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
export const object = must('an object', isJsonObject)

export const oneOf = (...values: readonly unknown[]): Shape =>
  must(values.map((each) => JSON.stringify(each)).join(' or '), (value) => values.includes(value))

export const orNull =
  (shape: Shape): Shape =>
  (value, path) =>
    value === null ? undefined : shape(value, path)

export const optional =
  (shape: Shape): Shape =>
  (value, path) =>
    value === undefined ? undefined : shape(value, path)

export const listOf =
  (shape: Shape): Shape =>
  (value, path) => {
    if (!Array.isArray(value)) return `${path} is ${kindOf(value)}, not a list`
    for (const [index, each] of value.entries()) {
      const flaw = shape(each, `${path}[${index}]`)
      if (flaw) return flaw
    }
    return undefined
  }

export const recordOf =
  (shape: Shape): Shape =>
  (value, path) =>
    object(value, path) ??
    Object.entries(value as object)
      .map(([key, each]) => shape(each, `${path}.${key}`))
      .find((flaw) => flaw !== undefined)

/** An object with these fields, and perhaps others. */
export const fields = (shapes: Readonly<Record<string, Shape>>): Shape => {
  const entries = Object.entries(shapes)
  return (value, path) => {
    const flaw = object(value, path)
    if (flaw) return flaw
    for (const [key, shape] of entries) {
      const inner = shape((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`)
      if (inner) return inner
    }
    return undefined
  }
}

export const message: Shape = (value, path) => {
  const flaw = messageFlaw(value)
  return flaw && `${path} is not a message: ${flaw}`
}

/** A part of a message of this type. */
export const part =
  (type: string): Shape =>
  (value, path) => {
    if (!isJsonObject(value) || value.type !== type) return `${path} is not a part of type ${type}`
    const flaw = partFlaw(value)
    return flaw && `${path}: ${flaw}`
  }
