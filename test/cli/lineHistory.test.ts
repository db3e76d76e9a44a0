import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lineHistory } from '../../src/cli/history.ts'
import { folder } from './spawned.ts'

it('keeps what was typed, newest first, without empty, long and many-lined ones', async () => {
  const file = join(await folder(), 'state/history')
  const { lines, add } = lineHistory(file)
  for (const line of ['One', '  ', 'x'.repeat(2001), 'two\nlines', 'y'.repeat(2000)]) add(line)
  expect(lines).toEqual([])
  expect(lineHistory(file).lines).toEqual(['y'.repeat(2000), 'One'])
  expect(await readFile(file, 'utf8')).toBe(`One\n${'y'.repeat(2000)}\n`)
})

it('reads a file that an editor on Windows saved, at most 500 lines of it, and no codes for the terminal', async () => {
  const file = join(await folder(), 'history')
  await writeFile(file, Array.from({ length: 501 }, (_, n) => `\u001B[31m${n}\u001B[0m\r\n`).join(''))
  const { lines } = lineHistory(file)
  expect(lines).toEqual(Array.from({ length: 500 }, (_, n) => String(500 - n)))
})

it('works without a file, and where none can be written', async () => {
  for (const file of [undefined, join(await folder(), 'x\0y')]) {
    const { lines, add } = lineHistory(file)
    add('One')
    expect(lines).toEqual([])
  }
})
