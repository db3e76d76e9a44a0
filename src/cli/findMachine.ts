import type { AnyStateMachine } from 'xstate'
import { findExport } from './moduleFile.ts'

/** The machine that the user's file exports, or that of its agent. */
export const findMachine = (file: string, name: string | undefined): Promise<AnyStateMachine> =>
  findExport(file, { noun: 'machine', read: machineIn, name })

const machineIn = (value: unknown): AnyStateMachine | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  if (isMachine(value)) return value
  const { machine }: { machine?: unknown } = value
  return typeof machine === 'object' && machine !== null && isMachine(machine) ? machine : undefined
}

const isMachine = (value: object): value is AnyStateMachine =>
  'root' in value && 'config' in value && 'transition' in value && 'getInitialSnapshot' in value
