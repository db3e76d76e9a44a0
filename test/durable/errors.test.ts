/** Failures of SQLite and its drivers are reported in words that help. */
import { describe, expect, test } from 'vitest'
import { damaged, LockedFile, storeError } from '../../src/durable/sqlite/storeErrors.ts'
import { ConfigurationError, OrchestrationError } from '../../src/messages/errors.ts'

const failures: [number, string, object, string][] = [
  [13, 'SQLITE_FULL', OrchestrationError, 'The disk is full: "runs.db" could not be written.'],
  [
    8,
    'SQLITE_READONLY',
    ConfigurationError,
    '"runs.db" cannot be written: the file, its folder or its disk is',
  ],
  [5, 'SQLITE_BUSY', LockedFile, '"runs.db" is locked: another program holds it.'],
  [11, 'SQLITE_CORRUPT', OrchestrationError, '"runs.db" is damaged. Make a copy of it'],
  [26, 'SQLITE_NOTADB', ConfigurationError, '"runs.db" is not an SQLite database: give another path.'],
  [14, 'SQLITE_CANTOPEN', ConfigurationError, '"runs.db" cannot be opened: its folder must exist'],
  [10, 'SQLITE_IOERR', OrchestrationError, 'The disk failed while "runs.db" was used.'],
]

describe.each(failures)('the code %i, %s', (number, name, errorClass, message) => {
  test.each([
    ['node:sqlite', { code: 'ERR_SQLITE_ERROR', errcode: number }],
    ['node:sqlite, with the kind of the failure', { code: 'ERR_SQLITE_ERROR', errcode: number + 3 * 256 }],
    ['libsql', { code: name, rawCode: number }],
    ['better-sqlite3', { code: name }],
    ['better-sqlite3, with the kind of the failure', { code: `${name}_KIND` }],
  ])('of %s', (_, fields) => {
    const thrown = Object.assign(new Error('said so'), fields)
    const error = storeError('runs.db', thrown)
    expect(error).toBeInstanceOf(errorClass)
    expect(error.message.slice(0, message.length)).toBe(message)
    expect(error.cause).toBe(thrown)
  })
})

test.each([
  ['another code', Object.assign(new Error('odd'), { code: 'SQLITE_ERROR', errcode: 1 })],
  ['no code', new Error('odd')],
  ['a text', 'odd'],
])('%s is a failure of the store', (_, thrown) => {
  const error = storeError('runs.db', thrown)
  expect(error).toBeInstanceOf(OrchestrationError)
  expect(error).not.toBeInstanceOf(LockedFile)
  expect(error.message).toBe('The store "runs.db" failed: odd')
})

test('an error of ours stays as it is', () => {
  const ours = damaged('it is gone')
  expect(storeError('runs.db', ours)).toBe(ours)
  expect(ours.message).toBe('The stored data is damaged: it is gone. Restore it from a backup.')
})
