import { describe, expect, it } from 'vitest'
import { geminiProfile } from '../../../providers/google/index.ts'

describe('the profile of a Gemini model', () => {
  it.each(['gemini-3-pro-preview', 'gemini-3.5-flash', 'models/gemini-4-argon', 'gemini-flash-latest'])(
    'of today, as %s, echoes ids, demands signatures and thinks in levels',
    (model) => {
      expect(geminiProfile(model)).toMatchObject({
        echoesCallIds: true,
        demandsSignatures: true,
        thinkingStyle: 'level',
        schemaWithTools: true,
      })
    },
  )

  it.each(['gemini-2.5-flash', 'models/gemini-2.0-flash-001', 'gemini-1.5-pro', 'tunedModels/mine'])(
    'of before, as %s, does none of that',
    (model) => {
      expect(geminiProfile(model)).toMatchObject({
        echoesCallIds: false,
        demandsSignatures: false,
        thinkingStyle: 'budget',
        schemaWithTools: false,
      })
    },
  )

  it('knows who thinks, and who cannot stop', () => {
    expect(geminiProfile('gemini-2.0-flash').thinking).toBe(false)
    expect(geminiProfile('gemini-2.5-flash')).not.toHaveProperty('minThinkingBudget')
    expect(geminiProfile('gemini-2.5-pro').minThinkingBudget).toBe(128)
    expect(geminiProfile('gemini-3.8-flash').thinkingLevels).toEqual(['low', 'medium', 'high'])
  })
})
