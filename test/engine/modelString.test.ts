import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { formatModelString, type ModelName, parseModelString } from '../../src/model/modelString.ts'

describe('25: a model string', () => {
  test.each<[string, ModelName]>([
    ['p', { provider: 'p' }],
    ['p:m', { provider: 'p', chat: 'm' }],
    ['p/m', { provider: 'p', chat: 'm' }],
    ['p:a/b', { provider: 'p', chat: 'a/b' }],
    ['p:m:tag', { provider: 'p', chat: 'm:tag' }],
    ['p/m:tag', { provider: 'p', chat: 'm:tag' }],
    ['p?chat=a&embeddings=b', { provider: 'p', chat: 'a', embeddings: 'b' }],
    ['p?embeddings=b', { provider: 'p', embeddings: 'b' }],
    ['p:m?embeddings=x', { provider: 'p', chat: 'm', embeddings: 'x' }],
    ['p:', { provider: 'p' }],
    ['p?chat=', { provider: 'p' }],
    ['p?chat=a/b:c', { provider: 'p', chat: 'a/b:c' }],
    ['openrouter:google/gemini-3-flash', { provider: 'openrouter', chat: 'google/gemini-3-flash' }],
    ['ollama:qwen3:8b', { provider: 'ollama', chat: 'qwen3:8b' }],
    ['  openai:gpt-5-mini\n', { provider: 'openai', chat: 'gpt-5-mini' }],
  ])('%j is read', (text, name) => {
    expect(parseModelString(text)).toEqual(name)
  })

  test.each([
    '',
    '   ',
    ':m',
    '/m',
    '?chat=a',
    'p//x',
    'a/b/c',
    'p m',
    'p: m',
    'p?',
    'p?model=a',
    'p?a?b',
    'p:m?chat=x',
    'p?chat=a b',
  ])('%j is refused with a ConfigurationError that quotes it', (text) => {
    expect(() => parseModelString(text)).toThrow(ConfigurationError)
    expect(() => parseModelString(text)).toThrow(`"${text}"`)
  })

  test('survives format and parse, whatever models are called', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9._/:@&=+-]{1,20}$/)
    const names: fc.Arbitrary<ModelName> = fc.record(
      {
        provider: fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/),
        chat: name,
        embeddings: fc.stringMatching(/^[a-zA-Z0-9._/:-]{1,20}$/),
      },
      { requiredKeys: ['provider'] },
    )
    fc.assert(
      fc.property(names, (each) => {
        expect(parseModelString(formatModelString(each))).toEqual(each)
      }),
      { numRuns: 500 },
    )
  })

  test('that can be read can be written and read again to the same', () => {
    const text = fc.stringMatching(/^p[:/?]?[a-c:/?&=]{0,8}(chat=|embeddings=)?[a-c&/:]{0,4}$/)
    fc.assert(
      fc.property(text, (each) => {
        let name: ModelName
        try {
          name = parseModelString(each)
        } catch {
          return
        }
        expect(parseModelString(formatModelString(name))).toEqual(name)
      }),
      { numRuns: 500, examples: [['p:a&b?embeddings=c']] },
    )
  })

  test('never fails in another way', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          expect(parseModelString(text).provider).not.toBe('')
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigurationError)
        }
      }),
    )
  })
})
