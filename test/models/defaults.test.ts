import { describe, expect, it } from 'vitest'
import { presets } from '../../providers/presets.ts'
import { rowOf, today } from './rowOf.ts'

// A default that its provider switches off is a broken first minute: then this fails, and a newer one is due.
// Some have none: only their users know which models they have.
describe.each(presets.filter(({ defaultModel }) => defaultModel !== ''))(
  '$name',
  ({ name, defaultModel, defaultEmbeddingsModel }) => {
    const defaults = [defaultModel, ...(defaultEmbeddingsModel === undefined ? [] : [defaultEmbeddingsModel])]

    it.each(defaults)('has a default that is known and not retired: %s', (model) => {
      const row = rowOf(name, model)
      expect(row, `${model} is in no table`).toBeDefined()
      expect(row?.retires ?? '9999-12-31', `${model} is retired: see ${row?.source}`).toSatisfy(
        (retires: string) => retires > today,
      )
    })
  },
)
