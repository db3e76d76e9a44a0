// A file of tests leaves its process as it found it: the files after it would run on its fake timers, which never end, or with
// its variables.
import { afterAll, expect } from 'vitest'

const timers = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'queueMicrotask',
] as const

const state = (): { [name: string]: unknown } => ({
  ...Object.fromEntries(timers.map((name) => [name, globalThis[name]])),
  Date,
  fetch,
  'performance.now': performance.now,
  'console.warn': console.warn,
  'console.error': console.error,
  'process.emitWarning': process.emitWarning,
  // A variable that was put back is the last one.
  'process.env': JSON.stringify(Object.entries(process.env).toSorted()),
  'process.cwd': process.cwd(),
})

const before = state()

afterAll(() => {
  const after = state()
  const left = Object.keys(before).filter((name) => after[name] !== before[name])
  expect(left, 'changed by a test of this file, and not put back').toEqual([])
})
