import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'
import { neverClosed } from '../wire/withheldCall.ts'
import { PartialArguments } from './partialArguments.ts'

type Call = {
  order: number
  id: string
  name: string
  whole: unknown
  partial: PartialArguments | undefined
  open: boolean
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
    return {
      type: 'toolDelta',
      index: call.order,
      ...(call.id !== '' && { id: call.id }),
      ...(call.name !== '' && { name: call.name }),
      arguments: text,
    }
  }

  /** All calls, in order; those cut short or garbled say so. */
  all(): WireToolCall[] {
    return this.#calls.map((call) => ({ id: call.id, name: call.name, ...argumentsOf(call) }))
  }

  /** Those whose arguments are whole, for the report of a stream that broke. */
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
    const call: Call = { order, id, name, whole: undefined, partial: undefined, open: false }
    this.#calls.push(call)
    return call
  }
}

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0

const argumentsOf = (call: Call) => {
  const parsed = parseArguments(call.partial?.value ?? call.whole)
  const problem = call.open || call.partial?.isGrowing ? neverClosed : call.partial?.problem
  if (problem === undefined) return parsed
  const argumentsRaw = parsed.argumentsRaw ?? JSON.stringify(parsed.arguments)
  return { arguments: {}, argumentsRaw, argumentsError: problem }
}
