/** A file of runs from a stranger: whatever is in its columns, the terminal gets text. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Invocation } from '../../src/cli/command.ts'
import { runs as command } from '../../src/cli/commands/runs.ts'
import { reportOf, showError } from '../../src/cli/outcome.ts'
import { Screen } from '../../src/cli/Screen.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { owning } from './storedRuns.ts'

const open = await findDriver()
const mark = '\u001b[2J\u009b2J\u0007\u202e'
/** The same mark as SQL, and in JSON. */
const sql = "char(27)||'[2J'||char(155)||'2J'||char(7)||char(8238)"
const json = '\\u001b[2J\\u009b2J\\u0007\\u202e'
const isHostile = /[^\P{Cc}\n\t]|\p{Bidi_Control}/u

/** Everything that a command writes to a terminal without colours. */
const shown = async (db: string, ...words: string[]): Promise<string> => {
  let written = ''
  const terminal = {
    isTTY: true,
    columns: 80,
    write: (text: string | Uint8Array) => {
      written += text
    },
  }
  const screen = new Screen(terminal, terminal, { NO_COLOR: '1' })
  const invocation: Invocation = { values: { db }, words, screen, stdin: process.stdin, env: {} }
  await command.run(invocation).catch((error) => showError(reportOf(error), screen))
  return written
}

test('no column of a hostile file reaches the terminal as a command', async () => {
  const { cwd, file, runs } = await owning([
    [{ text: 'Let me see.' }, { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a' } } }],
    [{ toolCall: { id: 'c2', name: 'lookup' } }],
    [{ text: 'Well.' }, { error: { message: 'out of order', status: 404, provider: 'ours' } }],
  ])
  await (await runs.start('janitor', 'Remove it', { id: 'job' })).result
  await runs.send('job', { type: 'tool.approve', callId: 'c1' })
  await (await runs.get('job'))?.result
  await (await runs.start('janitor', 'Fail', { id: 'bad' })).result.catch(() => {})
  await runs.close()
  const columns = columnsOf(file)
  expect(columns.length).toBeGreaterThan(25)
  const outputs: string[] = []
  for (const [index, change] of columns.entries()) {
    const copy = join(cwd, `copy-${index}.db`)
    copyFileSync(file, copy)
    const driver = open(copy)
    driver.exec(change)
    driver.close()
    // A damaged run may be followed for ever, but not one that has ended and whose text alone is changed.
    const isText = /SET chunks = replace/.test(change)
    const words = [['list'], ['show', 'job'], ['show', 'bad']]
    for (const each of isText ? [...words, ['stream', 'bad']] : words) {
      const output = await shown(copy, ...each)
      expect([change, each, isHostile.test(output)]).toEqual([change, each, false])
      outputs.push(output)
    }
  }
  expect(outputs.some((output) => /→ \[2J2Jremoved a/.test(output))).toBe(true)
  // The mark was there, without what makes it a command.
  expect(outputs.filter((output) => output.includes('[2J2J')).length).toBeGreaterThan(10)
  expect(isHostile.test(mark)).toBe(true)
})

/** Statements that each put the mark into one column: into the text of JSON, and as it is elsewhere. */
const columnsOf = (file: string): string[] => {
  const driver = open(file)
  driver.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const statements = ['runs', 'items', 'stream', 'contexts'].flatMap((table) =>
    driver
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .flatMap((row) => {
        const { name } = Object(row)
        if (name === 'n' || (name === 'id' && table === 'runs')) return []
        const inJson = (key: string) =>
          `UPDATE ${table} SET ${name} = replace(${name}, '"${key}":"', '"${key}":"${json}')`
        const keys = ['text', 'result', 'name', 'path', 'message', 'provider', 'output']
        return [`UPDATE ${table} SET ${name} = ${name}||${sql}`, keys.map(inJson).join('; ')]
      }),
  )
  driver.close()
  return statements
}
