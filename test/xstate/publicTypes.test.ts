/** The sources reach nothing of XState that its published types do not name. */
import { describe, expect, it } from 'vitest'
import { hidden, published, sourcesIn, tricksIn, usesIn } from './usedNames.ts'

const machines = sourcesIn('machines')
const src = sourcesIn('src')

/** The names with an underscore that XState's types give to everybody, zod's mark of a schema, and a word of MCP. */
const allowed: Record<string, readonly string[]> = {
  machines: ['_clock', '_parent'],
  'src/agent': [],
  'src/durable': ['_parent'],
  'src/tools': ['_zod'],
  'src/telemetry': ['_parent'],
  'src/mcp': ['_meta'],
  'src/testing': ['_parent', '_transitions'],
  'src/inspector': ['_parent', '_transitions'],
  'src/xstate6': ['_parent'],
}

const namesIn = (folder: string): string[] => {
  const files = [...machines, ...src].filter((file) => file.startsWith(`${folder}/`))
  return [...new Set(files.flatMap(usesIn).map(({ name }) => name))].toSorted()
}

describe('the sources', () => {
  it.each(Object.entries(allowed))('of %s use no names of XState’s inside', (folder, names) => {
    expect(namesIn(folder)).toEqual(names)
  })

  it('use none of them anywhere else', () => {
    const others = src.filter((file) => !Object.keys(allowed).some((folder) => file.startsWith(`${folder}/`)))
    expect(others.flatMap(usesIn)).toEqual([])
  })

  it('find in XState’s types every name that is allowed', () => {
    const names = Object.values(allowed)
      .flat()
      .filter((name) => name !== '_zod' && name !== '_meta')
    expect(names.filter((name) => !published.has(name))).toEqual([])
    expect(hidden).toContain('_deferred')
  })

  it('make no heir of a machine, change no prototype, and import nothing from inside of XState', () => {
    const tricks = [...machines, ...src].flatMap(tricksIn)
    expect(tricks.filter((trick) => !trick.endsWith('is cast through unknown'))).toEqual([])
  })

  it('of machines cast nothing through unknown', () => {
    expect(machines.flatMap(tricksIn)).toEqual([])
  })
})

describe('code that does it all the same', () => {
  const forbidden = 'test/xstate/forbiddenHabits.ts'

  it('is found by the names', () => {
    const names = ['_deferred', '_snapshot', 'mailbox', 'observers', '_processingStatus', 'logger']
    expect(new Set(usesIn(forbidden).map(({ name }) => name))).toEqual(new Set(names))
  })

  it('is found by the tricks', () => {
    expect(tricksIn(forbidden).map((trick) => trick.replace(/^\S+ /, ''))).toEqual([
      'is cast through unknown',
      'makes an object of another one',
      'changes a prototype',
      'changes a prototype',
    ])
  })
})
