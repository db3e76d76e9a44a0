import { isJsonObject } from '../../src/messages/json.ts'
import type { AgentInput } from '../agent/events.ts'
import type { PhasedRun } from '../orchestrators/phasedRun.ts'
import * as is from './shape.ts'
import { failureShape, totalsShape } from './storedRun.ts'

const phasesShape = is.fields<PhasedRun>({
  version: is.text,
  input: is.like<AgentInput>(is.object),
  messages: is.listOf(is.message),
  totals: totalsShape,
  failure: failureShape,
  abortReason: is.text,
  answer: is.orNull(is.text),
  shown: is.text,
  policy: is.optional(is.object),
})

/** The rule for a value of the kind that the data has at the start; what is null there may be anything. */
const likeAtStart = (value: unknown): is.Rule => {
  if (value === null) return (name, found) => (found === undefined ? `${name} is missing` : undefined)
  if (Array.isArray(value)) return is.listOf(() => undefined)
  if (isJsonObject(value)) return is.fields(shapesOf(value))
  return typeof value === 'number' ? is.number : typeof value === 'boolean' ? is.flag : is.text
}

const shapesOf = (data: object): Record<string, is.Rule> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, likeAtStart(value)]))

/** A child continues, or reports once more how it ended. */
const isAlive = (snapshot: unknown): boolean =>
  isJsonObject(snapshot) && ['active', 'done', 'error'].includes(String(snapshot.status))

/** Says what is wrong with a stored chart of phases; the runs in it are checked by their own machines. */
export const storedPhasesFlaw = (phases: Readonly<Record<string, object>>, data: object) => {
  const own = is.fields(shapesOf(data))
  return ({ status, value, context, children }: Readonly<Record<string, unknown>>): string | undefined => {
    const flaw = phasesShape('', context) ?? own('', context)
    if (flaw) return flaw
    const isEnd = value === 'Complete' || value === 'Failed' || value === 'Aborted'
    if (status === 'done' && isEnd) return undefined
    const [name, inner] = isJsonObject(value) ? (Object.entries(value)[0] ?? []) : [value]
    const phase =
      status === 'active' && typeof name === 'string' && Object.hasOwn(phases, name)
        ? phases[name]
        : undefined
    const inners = phase && 'run' in phase ? ['Working', 'Waiting'] : [undefined]
    if (!phase || !inners.some((each) => each === inner))
      return `its status is ${String(status)}, and its state ${JSON.stringify(value) ?? 'missing'}`
    const id = 'run' in phase ? 'run' : 'step'
    const { [id]: child, ...others } = isJsonObject(children) ? children : {}
    const isThere = isJsonObject(child) && child.src === name && isAlive(child.snapshot)
    if (!isThere) return `its state is "${name}", but nothing runs there`
    const [stray] = Object.keys(others)
    return stray === undefined ? undefined : `its state is "${name}", which has no child "${stray}"`
  }
}
