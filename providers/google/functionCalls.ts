import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { neverClosed, toolDelta } from '../wire/decoder.ts'
import { arrayAt, objectAt, stringAt } from '../wire/json.ts'

type Call = {
  order: number
  id: string
  name: string
  whole: unknown
  partial: PartialArguments | undefined
  open: boolean
  /** Google ran the function itself, on an MCP server, and sent its response in the same answer. */
  isAnswered: boolean
}

/**
 * Collects function calls: mostly one whole call per part, sometimes one in pieces (`willContinue`, `partialArgs`).
 *
 * Invariant: only a call that said it would continue takes further pieces; everything else is a new call, regardless of
 * its id, because Gemini often sends none and gateways send equal ones.
 */
export class FunctionCalls {
  readonly #calls: Call[] = []

  /** Undefined for a part that says nothing and belongs to no open call. */
  add(part: JsonObject): Extract<Delta, { type: 'toolDelta' }> | undefined {
    const id = stringAt(part, 'id') ?? ''
    const name = stringAt(part, 'name') ?? ''
    const args = ownValue(part, 'args') ?? undefined
    const leaves = arrayAt(part, 'partialArgs')?.filter(isJsonObject) ?? []
    const hasContent = name !== '' || args !== undefined || leaves.length > 0
    const continued = this.#continued(id, name)
    if (!continued && !hasContent) return undefined
    const call = continued ?? this.#start(id, name)
    call.open = ownValue(part, 'willContinue') === true
    if (call.id === '') call.id = id
    let text = ''
    // Whole arguments replace what came in leaves, unless they are only the empty default beside them.
    if (args !== undefined && !(call.partial && isEmptyObject(args))) {
      call.whole = args
      call.partial = undefined
      text = typeof args === 'string' ? args : JSON.stringify(args)
    }
    if (leaves.length > 0) {
      call.partial ??= new PartialArguments(isJsonObject(call.whole) ? call.whole : {})
      for (const leaf of leaves) text += call.partial.add(leaf)
    }
    return toolDelta(call.order, call, text)
  }

  /**
   * Takes the response to a call out of a part. A function that was answered in the same answer ran on Google's side: it
   * must not run again here.
   */
  answer(part: JsonObject): JsonObject | undefined {
    const functionResponse = objectAt(part, 'functionResponse')
    if (!functionResponse) return undefined
    const id = stringAt(functionResponse, 'id') ?? ''
    const name = stringAt(functionResponse, 'name') ?? ''
    const call = this.#calls.find(
      (each) => !each.isAnswered && (id !== '' && each.id !== '' ? each.id === id : each.name === name),
    )
    if (!call) return { functionResponse }
    call.isAnswered = true
    return { functionCall: wirePart(call), functionResponse }
  }

  /** The calls that Google ran itself, by their number, as they go back. */
  answered(): ReadonlyMap<number, JsonObject> {
    const answered = this.#calls.filter(({ isAnswered }) => isAnswered)
    return new Map(answered.map((call) => [call.order, { functionCall: wirePart(call) }]))
  }

  /** All calls for the client, in order; those cut short or garbled say so. */
  all(): WireToolCall[] {
    const ours = this.#calls.filter(({ isAnswered }) => !isAnswered)
    return ours.map((call) => ({ id: call.id, name: call.name, ...argumentsOf(call) }))
  }

  /** The calls whose arguments are whole, for the report of a stream that broke. */
  complete(): WireToolCall[] {
    return this.all().filter((call) => call.argumentsError === undefined)
  }

  #continued(id: string, name: string): Call | undefined {
    const last = this.#calls.at(-1)
    if (!last?.open) return undefined
    const otherId = id !== '' && last.id !== '' && id !== last.id
    return otherId || (name !== '' && name !== last.name) ? undefined : last
  }

  #start(id: string, name: string): Call {
    const order = this.#calls.length
    const call: Call = {
      order,
      id,
      name,
      whole: undefined,
      partial: undefined,
      open: false,
      isAnswered: false,
    }
    this.#calls.push(call)
    return call
  }
}

const wirePart = (call: Call): JsonObject => ({
  ...(call.id !== '' && { id: call.id }),
  name: call.name,
  args: argumentsOf(call).arguments,
})

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0

const argumentsOf = (call: Call) => {
  const parsed = parseArguments(call.partial?.value ?? call.whole)
  const problem = call.open || call.partial?.isGrowing ? neverClosed : call.partial?.problem
  if (problem === undefined) return parsed
  const argumentsRaw = parsed.argumentsRaw ?? JSON.stringify(parsed.arguments)
  return { arguments: {}, argumentsRaw, argumentsError: problem }
}

type Step = string | number

/**
 * Puts arguments together that Gemini streams leaf by leaf, each with a JSON path (`$.rows[0].name`).
 *
 * Paths come from the wire: they only ever create own properties, and lists only grow by one.
 */
export class PartialArguments {
  readonly value: JsonObject
  /** The reason why a leaf could not be understood; such arguments must not be used. */
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
