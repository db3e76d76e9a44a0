import type { AnyMachineSnapshot, Snapshot } from 'xstate'
import { ConfigurationError, describeThrown } from '../src/messages/errors.ts'
import { copyJson, isJsonObject } from '../src/messages/json.ts'
import { type AnyRunMachine, changed } from './runMachine.ts'

/** The shape of the data that our charts keep. It grows with every change that an older snapshot does not fit. */
export const snapshotVersion = 4

/** What is wrong with a stored snapshot; undefined if a machine can go on from it. */
export type StoredFlaw = (stored: Readonly<Record<string, unknown>>) => string | undefined

/**
 * Makes a machine refuse a stored snapshot that it cannot go on from, before the chart trips over it. The data that it
 * stores is JSON: XState would look through the whole conversation for actors, at every step that somebody stores.
 */
export const withStoredCheck = <M extends AnyRunMachine>(machine: M, flawIn: StoredFlaw): M =>
  changed(machine, ({ id, restoreSnapshot, getPersistedSnapshot }) => ({
    getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options) => ({
      ...getPersistedSnapshot({ ...snapshot, context: {} }, options),
      context: snapshot.context,
    }),
    restoreSnapshot: (stored, scope) => {
      const flaw = flawOf(stored, flawIn)
      if (flaw) throw unusable(id, flaw)
      try {
        return restoreSnapshot(stored, scope)
      } catch (thrown) {
        // What belongs to XState and not to us, such as the history of states.
        throw unusable(id, describeThrown(thrown), thrown)
      }
    },
  }))

const unusable = (id: string, flaw: string, cause?: unknown): ConfigurationError =>
  new ConfigurationError(
    `This is not a snapshot that the machine "${id}" can go on from: ${flaw.replace(/\.?$/, '.')}`,
    {
      cause,
    },
  )

const flawOf = (stored: Snapshot<unknown>, flawIn: StoredFlaw): string | undefined => {
  try {
    const snapshot = copyJson(stored)
    if (!isJsonObject(snapshot)) return 'it is not an object'
    const { status, context } = snapshot
    if (status !== 'active' && status !== 'done')
      return `its status is ${JSON.stringify(status) ?? 'missing'}`
    if (!isJsonObject(context)) return 'it has no context'
    if (context.version !== snapshotVersion) {
      const found = JSON.stringify(context.version) ?? 'missing'
      return `its version is ${found}, and this release reads version ${snapshotVersion}`
    }
    return flawIn(snapshot)
  } catch (thrown) {
    return `it is not plain JSON: it holds ${describeThrown(thrown)}`
  }
}
