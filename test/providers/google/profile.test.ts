import { describe, expect, it } from 'vitest'
import { geminiProfile } from '../../../providers/google/index.ts'

describe('the profile of a Gemini model', () => {
  it.each(['gemini-3-pro-preview', 'gemini-3.5-flash', 'models/gemini-4-argon', 'gemini-flash-latest'])(
    'of today, as %s, echoes ids and demands signatures',
    (model) => {
      expect(geminiProfile(model)).toMatchObject({
        echoesCallIds: true,
        demandsSignatures: true,
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
        schemaWithTools: false,
      })
    },
  )

  it('knows who thinks, and who cannot stop', () => {
    expect(geminiProfile('gemini-2.0-flash').thinking).toBe(false)
    expect(geminiProfile('gemini-2.5-flash').budget).toMatchObject({ canStop: true })
    expect(geminiProfile('gemini-2.5-pro').budget).toEqual({ min: 128, max: 32_768, canStop: false })
    expect(geminiProfile('gemini-3.8-flash').efforts).toEqual(['low', 'medium', 'high'])
  })
})
