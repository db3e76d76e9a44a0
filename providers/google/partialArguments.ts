import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { stringAt } from '../wire/wireJson.ts'

type Step = string | number

/**
 * Puts arguments together that Gemini streams leaf by leaf, each with a JSON path (`$.rows[0].name`).
 *
 * Paths come from the wire: they only ever create own properties, and lists only grow by one.
 */
export class PartialArguments {
  readonly value: JsonObject
  /** What could not be understood; such arguments must not be used. */
  problem: string | undefined
  readonly #growing = new Set<string>()

  /** A leaf said that it would continue, and has not yet. */
  get isGrowing(): boolean {
    return this.#growing.size > 0
  }

  constructor(start: JsonObject) {
    this.value = start
  }

  /** Takes one leaf or a piece of one, and gives the text it brought. */
  add(leaf: JsonObject): string {
    const path = stringAt(leaf, 'jsonPath') ?? ''
    const value = leafValue(leaf)
    const grows = this.#growing.has(path)
    if (ownValue(leaf, 'willContinue') === true) this.#growing.add(path)
    else this.#growing.delete(path)
    if (value === undefined) return ''
    if (!this.#write(stepsOf(path), value, grows))
      this.problem ??= `The arguments have an impossible path: ${path}`
    return typeof value === 'string' ? value : JSON.stringify(value)
  }

  #write(steps: Step[] | undefined, value: JsonValue, grows: boolean): boolean {
    let holder: JsonValue = this.value
    for (const [index, step] of (steps ?? []).entries()) {
      const known = read(holder, step)
      const next = steps?.[index + 1]
      if (next === undefined) {
        const whole = grows && typeof known === 'string' && typeof value === 'string' ? known + value : value
        return write(holder, step, whole)
      }
      const child: JsonValue = known ?? (typeof next === 'number' ? [] : {})
      if (known === undefined && !write(holder, step, child)) return false
      holder = child
    }
    return false
  }
}

const leafValue = (leaf: JsonObject): JsonValue | undefined => {
  if (ownValue(leaf, 'nullValue') !== undefined) return null
  return ['stringValue', 'numberValue', 'boolValue']
    .map((key) => ownValue(leaf, key))
    .find((value) => value !== undefined)
}

const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** `$.a['b c'][0]` → `['a', 'b c', 0]`; undefined if it is not such a path. */
const stepsOf = (path: string): Step[] | undefined => {
  if (!path.startsWith('$')) return undefined
  const steps: Step[] = []
  step.lastIndex = 1
  while (step.lastIndex < path.length) {
    const match = step.exec(path)
    if (!match) return undefined
    const [, name, index, single, double] = match
    steps.push(
      index !== undefined ? Number(index) : (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')),
    )
  }
  return steps
}

const read = (holder: JsonValue, at: Step): JsonValue | undefined => {
  if (Array.isArray(holder)) return typeof at === 'number' ? holder[at] : undefined
  return isJsonObject(holder) && typeof at === 'string' ? ownValue(holder, at) : undefined
}

const write = (holder: JsonValue, at: Step, value: JsonValue): boolean => {
  if (Array.isArray(holder)) {
    if (typeof at !== 'number' || at > holder.length) return false
    holder[at] = value
    return true
  }
  if (!isJsonObject(holder) || typeof at !== 'string') return false
  // Defined, not assigned: `__proto__` becomes a plain key.
  Object.defineProperty(holder, at, { value, enumerable: true, writable: true, configurable: true })
  return true
}
