import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyStateMachine } from 'xstate'
import { describeThrown } from '../messages/errors.ts'
import { UsageError } from './exit.ts'

/** The machine that a file of the user exports: the one named, the default, or the only one there is. */
export const findMachine = async (file: string, wanted: string | undefined): Promise<AnyStateMachine> => {
  const exported = Object.entries(await load(file))
  const names = exported.map(([name]) => name).join(', ') || 'nothing'
  const machines = exported.flatMap(([name, value]) => {
    const machine = machineIn(value)
    return machine ? [{ name, machine }] : []
  })
  if (wanted !== undefined) {
    const found = machines.find(({ name }) => name === wanted)
    if (found) return found.machine
    const problem = exported.some(([name]) => name === wanted) ? 'is no machine' : 'is not exported'
    throw new UsageError(`"${wanted}" ${problem}. ${file} exports: ${names}.`)
  }
  const chosen = machines.find(({ name }) => name === 'default') ?? machines[0]
  if (!chosen) throw new UsageError(`${file} exports no machine. It exports: ${names}.`)
  if (machines.length > 1 && chosen.name !== 'default') {
    throw new UsageError(
      `${file} exports several machines: choose one with --export ${machines.map(({ name }) => name).join('|')}`,
    )
  }
  return chosen.machine
}

const load = async (file: string): Promise<Record<string, unknown>> => {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`There is no file ${file}.`)
  try {
    return unwrapped(await import(pathToFileURL(path).href))
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${problemOf(error, path)}`)
  }
}

/** A CommonJS module comes as a whole, as the default; its names may be missing beside it. */
const unwrapped = (module: Record<string, unknown>): Record<string, unknown> => {
  const { default: whole, 'module.exports': __, ...named } = module
  if (machineIn(whole) || typeof whole !== 'object' || whole === null) {
    return whole === undefined ? named : { default: whole, ...named }
  }
  return { ...whole, ...named }
}

const problemOf = (error: unknown, path: string): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const isTypeScript = /^\.[cm]?tsx?$/.test(extname(path))
  if (isTypeScript && (code === 'ERR_UNKNOWN_FILE_EXTENSION' || error instanceof SyntaxError)) {
    return `Node ${process.version} does not read TypeScript. Node 22.18 or newer does; or compile the file first.`
  }
  return describeThrown(error)
}

/** A machine, or what has one: an agent. Told by its shape, since it may come from another copy of XState. */
const machineIn = (value: unknown): AnyStateMachine | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  if (isMachine(value)) return value
  const { machine }: { machine?: unknown } = value
  return typeof machine === 'object' && machine !== null && isMachine(machine) ? machine : undefined
}

const isMachine = (value: object): value is AnyStateMachine =>
  'root' in value && 'config' in value && 'transition' in value && 'getInitialSnapshot' in value
