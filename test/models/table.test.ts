import { describe, expect, it } from 'vitest'
import { embeddingModels, modelTables } from '../../providers/models/index.ts'
import { anyEffort, knownModel } from '../../providers/models/modelFacts.ts'
import { today } from './rowOf.ts'

describe.each([...modelTables, embeddingModels])('the table of $provider', (table) => {
  const rows = [table.newest, ...table.rows]

  it('says of every row where it is from, and when it was looked up, if it was', () => {
    for (const { source, checked } of rows) {
      expect(source).not.toBe('')
      if (checked === null) continue
      expect(new Date(checked).toISOString().slice(0, 10)).toBe(checked)
      expect(checked <= today).toBe(true)
    }
  })

  it('writes dates as dates and efforts from low to high', () => {
    for (const { retires = '2030-01-01', efforts = [] } of rows) {
      expect(new Date(retires).toISOString().slice(0, 10)).toBe(retires)
      expect(efforts).toEqual(anyEffort.filter((word) => efforts.includes(word)))
    }
  })

  it('has each name once, and finds its own row by it', () => {
    const names = table.rows.flatMap((row) => row.names.map((name) => name.toLowerCase()))
    expect(new Set(names).size).toBe(names.length)
    for (const row of table.rows) for (const name of row.names) expect(knownModel(table, name)).toBe(row)
  })

  it('claims no size for models that are not known', () => {
    expect(table.newest).not.toHaveProperty('retires')
  })
})
