import type { Snapshot } from 'xstate'
import { ConfigurationError } from '../src/messages/errors.ts'
import { isJsonObject } from '../src/messages/json.ts'
import { type AnyRunMachine, changed } from './runMachine.ts'

type Data = Readonly<Record<string, unknown>>

/** The shape of the data that our charts keep. It grows with every change that an older snapshot does not fit. */
export const snapshotVersion = 3

/**
 * Makes a machine refuse a stored snapshot whose data is of another shape, before the chart trips over it: every field
 * must be of the kind that it has in a fresh run. What is null there may be anything.
 */
export const withStoredCheck = <M extends AnyRunMachine>(machine: M, fresh: Data): M =>
  changed(machine, ({ id, restoreSnapshot }) => ({
    restoreSnapshot: (stored, scope) => {
      checkStored(stored, id, fresh)
      return restoreSnapshot(stored, scope)
    },
  }))

const checkStored = (stored: Snapshot<unknown>, machine: string, fresh: Data): void => {
  const context: unknown = 'context' in stored ? stored.context : undefined
  if (!isJsonObject(context)) throw refusal(machine, 'it has no context')
  if (context.version !== snapshotVersion) {
    const found = JSON.stringify(context.version) ?? 'missing'
    throw refusal(machine, `its version is ${found}, and this release reads version ${snapshotVersion}`)
  }
  const flaw = flawIn(context, fresh)
  if (flaw) throw refusal(machine, flaw)
}

const refusal = (machine: string, why: string): ConfigurationError =>
  new ConfigurationError(`This is not a snapshot that the machine "${machine}" can go on from: ${why}.`)

const flawIn = (data: Data, fresh: Data, path = ''): string | undefined => {
  for (const [key, expected] of Object.entries(fresh)) {
    const found = data[key]
    if (expected === null && found !== undefined) continue
    if (kindOf(found) !== kindOf(expected))
      return `${path}${key} is ${kindOf(found)}, not ${kindOf(expected)}`
    const inner = isJsonObject(expected) && flawIn(found as Data, expected, `${path}${key}.`)
    if (inner) return inner
  }
  return undefined
}

const kindOf = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`
}
