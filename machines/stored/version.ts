import type { Snapshot } from 'xstate'
import { ConfigurationError, describeThrown } from '../../src/messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { hostOf } from '../logic/runEnvironment.ts'
import { type AnyRunMachine, wrapLogic } from '../logic/wrapLogic.ts'

const major = 4
const minor = 3

/**
 * The shape of the data that our charts keep: major and minor. A change that an older snapshot can be brought to raises the
 * minor and adds a migration; one that it cannot raises the major.
 */
export const snapshotVersion = `${major}.${minor}`

/** Says what is wrong with a stored snapshot; undefined if a machine can continue from it. */
type StoredFlaw = (stored: Readonly<Record<string, unknown>>) => string | undefined

/** Brings a snapshot of one minor to the next; it may change what it is given. */
export type Migration = (stored: JsonObject) => JsonObject

/** Brings a snapshot up to date. `stoppedMs`: the time in which no process had its run. */
export type Renewal = (stored: JsonObject, stoppedMs: number) => JsonObject

/** The rules by which a machine takes a stored snapshot. */
export type StoredCheck = {
  flawIn: StoredFlaw
  /** The migrations of older snapshots; the first is from minor 0. */
  migrations: readonly Migration[]
  /** Computes again what follows from the rest, and from the current configuration. */
  renew?: Renewal
}

/** Makes a machine refuse a stored snapshot that it cannot continue from, before the chart fails on it. */
export const withStoredCheck = (machine: AnyRunMachine, check: StoredCheck): AnyRunMachine =>
  wrapLogic('storedCheck', machine, ({ id, restoreSnapshot }) => ({
    restoreSnapshot: (stored, scope) => {
      const { flaw, usable } = checked(stored, check, hostOf(scope.self).stoppedMs ?? 0)
      // Such a snapshot holds actors, which JSON cannot.
      const isLive = typeof Object(stored).getMeta === 'function'
      if (flaw && isLive)
        throw unusable(id, 'it is a snapshot of a running actor: store what getPersistedSnapshot() returns')
      if (flaw) throw unusable(id, flaw)
      try {
        return restoreSnapshot(usable, scope)
      } catch (thrown) {
        // What belongs to XState and not to us, such as the history of states.
        throw unusable(id, describeThrown(thrown), thrown)
      }
    },
  }))

const unusable = (id: string, flaw: string, cause?: unknown): ConfigurationError =>
  new ConfigurationError(
    `This is not a snapshot that the machine "${id}" can continue from: ${flaw.replace(/\.?$/, '.')}`,
    { cause },
  )

type Checked = { flaw?: string | undefined; usable: Snapshot<unknown> }

const checked = (
  stored: Snapshot<unknown>,
  { flawIn, migrations, renew }: StoredCheck,
  stoppedMs: number,
): Checked => {
  const refused = (flaw: string): Checked => ({ flaw, usable: stored })
  try {
    const snapshot = copyJson(stored)
    if (!isJsonObject(snapshot))
      return refused(
        typeof snapshot === 'string' ? 'it is a string: write JSON.parse(snapshot)' : 'it is not an object',
      )
    const { status, context } = snapshot
    if (status !== 'active' && status !== 'done')
      return refused(`its status is ${JSON.stringify(status) ?? 'missing'}`)
    if (!isJsonObject(context)) return refused('it has no context')
    const from = minorOf(context.version)
    if (typeof from === 'string') return refused(from)
    const migrated = from < minor ? migratedFrom(from, snapshot, migrations) : snapshot
    const flaw = flawIn(migrated)
    const renewed = flaw === undefined && renew ? renew(migrated, stoppedMs) : migrated
    return { flaw, usable: renewed === snapshot ? stored : { ...stored, ...renewed } }
  } catch (thrown) {
    return refused(`it is not plain JSON: it holds ${describeThrown(thrown)}`)
  }
}

/** A stored snapshot as this release would write it; one that cannot be migrated, as it is. */
export const currentForm = (stored: JsonObject, migrations: readonly Migration[]): JsonObject => {
  const from = isJsonObject(stored.context) ? minorOf(stored.context.version) : 'it has no context'
  return typeof from === 'number' && from < minor ? migratedFrom(from, stored, migrations) : stored
}

const migratedFrom = (from: number, stored: JsonObject, migrations: readonly Migration[]): JsonObject => {
  const migrated = migrations.slice(from).reduce((older, migrate) => migrate(older), stored)
  const context = isJsonObject(migrated.context) ? migrated.context : {}
  return { ...migrated, context: { ...context, version: snapshotVersion } }
}

/** The minor of a version that can be read, or why it cannot. The first versions were whole numbers. */
const minorOf = (version: JsonValue | undefined): number | string => {
  const found = JSON.stringify(version) ?? 'missing'
  const [, ofMajor, ofMinor = '0'] = /^(\d+)(?:\.(\d+))?$/.exec(String(version)) ?? []
  if (ofMajor === undefined || Number(ofMajor) !== major)
    return `its version is ${found}, and this release reads versions ${major}.0 to ${snapshotVersion}`
  return Number(ofMinor) > minor
    ? `its version is ${found}: a newer release wrote it, and this one reads versions up to ${snapshotVersion}`
    : Number(ofMinor)
}
