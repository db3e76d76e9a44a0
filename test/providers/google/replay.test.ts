import { describe, expect, it } from 'vitest'
import { geminiProfile, google } from '../../../providers/google/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { type ChatMessage, userMessage } from '../../../src/messages/messages.ts'
import { messageAccumulator, nothingAccumulated } from '../../../src/model/accumulator.ts'
import type { Delta } from '../../../src/model/delta.ts'

const targetOf = (provider: string, model: string) => ({ provider, model, profile: geminiProfile(model) })
const gemini = targetOf('google', 'gemini-3-flash')

/** Google's word for a call whose own signature is not known. */
const signaturePlaceholder = 'skip_thought_signature_validator'

/** The message that an answer in these chunks becomes. */
const received = (...chunks: JsonObject[][]): ChatMessage => {
  const decoder = google.decoder(gemini)
  const deltas: Delta[] = chunks.flatMap((parts) =>
    decoder.push({ data: JSON.stringify({ candidates: [{ content: { parts } }] }) }),
  )
  deltas.push(...decoder.push({ data: '{"candidates":[{"finishReason":"STOP"}]}' }), ...decoder.end())
  const accumulated = messageAccumulator.accumulate(nothingAccumulated, deltas)
  const message = messageAccumulator.consolidate(accumulated)
  const calls = accumulated.calls.map((call, n) => ({
    type: 'toolCall' as const,
    ...call,
    id: call.id || `minted${n}`,
  }))
  return JSON.parse(JSON.stringify({ ...message, parts: [...message.parts, ...calls] }))
}

const sentBack = (message: ChatMessage, target = gemini) => {
  const { contents } = google.request(
    { messages: [userMessage('hi'), message, userMessage('and?')] },
    target,
  ).body
  return Array.isArray(contents) && contents.length === 3 ? (contents[1] as JsonObject).parts : undefined
}

describe('an answer sent back to the provider that gave it', () => {
  it('has every signature on the exact part it came on', () => {
    const message = received(
      [{ text: 'thinking about it', thought: true }],
      [{ text: 'Let me ' }],
      [{ text: 'look.' }, { text: ' Now.', thoughtSignature: 'sig+/=1' }],
      [{ functionCall: { name: 'f', args: { x: 1 }, id: 'a' }, thoughtSignature: 'sig2' }],
      [{ functionCall: { name: 'g', args: {}, id: 'b' } }],
      [{ text: '', thoughtSignature: 'sig3' }],
      [{ text: ' Bye.' }],
    )
    expect(sentBack(message)).toEqual([
      { text: 'Let me look.' },
      { text: ' Now.', thoughtSignature: 'sig+/=1' },
      { functionCall: { name: 'f', args: { x: 1 }, id: 'a' }, thoughtSignature: 'sig2' },
      { functionCall: { name: 'g', args: {}, id: 'b' } },
      { text: '', thoughtSignature: 'sig3' },
      { text: ' Bye.' },
    ])
  })

  it('returns a thought only when it was signed', () => {
    const signed = { text: 'deep', thought: true, thoughtSignature: 'sig' }
    expect(sentBack(received([{ text: 'shallow', thought: true }], [signed, { text: 'Yes.' }]))).toEqual([
      signed,
      { text: 'Yes.' },
    ])
  })

  it('keeps calls before text where they came before it', () => {
    const message = received([
      { functionCall: { name: 'f', args: {}, id: 'a' }, thoughtSignature: 'sig' },
      { text: 'Done soon.' },
    ])
    expect(sentBack(message)).toEqual([
      { functionCall: { name: 'f', args: {}, id: 'a' }, thoughtSignature: 'sig' },
      { text: 'Done soon.' },
    ])
  })

  it('takes the signature of a call in pieces from whichever piece had it', () => {
    const message = received(
      [{ functionCall: { name: 'f', id: 'a', willContinue: true } }],
      [{ functionCall: { partialArgs: [{ jsonPath: '$.x', numberValue: 1 }] }, thoughtSignature: 'sig' }],
    )
    expect(sentBack(message)).toEqual([
      { functionCall: { name: 'f', args: { x: 1 }, id: 'a' }, thoughtSignature: 'sig' },
    ])
  })

  it('names a call only where Gemini did, on the call and on its response', () => {
    const message = received([
      { functionCall: { name: 'f', args: {} }, thoughtSignature: 'sig' },
      { functionCall: { name: 'g', args: {}, id: 'b' } },
    ])
    const result = (id: string, name: string) => ({ type: 'toolResult' as const, id, name, result: '{}' })
    const results = userMessage([result('minted0', 'f'), result('b', 'g')])
    const { contents } = google.request({ messages: [userMessage('hi'), message, results] }, gemini).body
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'hi' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'f', args: {} }, thoughtSignature: 'sig' },
          { functionCall: { name: 'g', args: {}, id: 'b' } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: {} } },
          { functionResponse: { name: 'g', response: {}, id: 'b' } },
        ],
      },
    ])
  })

  it('returns server-side tool parts untouched, in their place', () => {
    const code = { executableCode: { code: 'print(1)', id: 'c' }, thoughtSignature: 'sig' }
    const output = { codeExecutionResult: { id: 'c', outcome: 'OUTCOME_OK', output: '1' } }
    expect(sentBack(received([{ text: 'See: ' }, code, output, { text: '1' }]))).toEqual([
      { text: 'See: ' },
      code,
      output,
      { text: '1' },
    ])
  })

  it('returns generated media with their signatures', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'sig' }
    expect(sentBack(received([image, { text: 'A cat.' }]))).toEqual([image, { text: 'A cat.' }])
  })

  it('does not store its text twice', () => {
    const message = received([{ text: 'a long text', thoughtSignature: 'sig' }])
    expect(message.metadata).toEqual({
      google: { provider: 'google', parts: [{ text: 11, signature: 'sig' }] },
    })
  })

  it('carries no opaque data when nothing was signed', () => {
    expect(received([{ text: 'plain' }, { functionCall: { name: 'f' } }])).not.toHaveProperty('metadata')
  })

  it('is not sent when it was nothing but a signature', () => {
    const message = received([{ text: '', thoughtSignature: 'sig' }])
    const { contents } = google.request({ messages: [userMessage('hi'), message] }, gemini).body
    expect(contents).toEqual([{ role: 'user', parts: [{ text: 'hi' }] }])
  })
})

describe('an answer that changed hands', () => {
  const signed = received(
    [{ text: 'Look: ', thoughtSignature: 'sig1' }],
    [{ functionCall: { name: 'f', args: {}, id: 'a' }, thoughtSignature: 'sig2' }],
  )

  it('goes to another provider without the signatures', () => {
    expect(sentBack(signed, targetOf('vertex', 'gemini-2.5-flash'))).toEqual([
      { text: 'Look: ' },
      { functionCall: { name: 'f', args: {} } },
    ])
  })

  it('is mapped plainly when its text was edited', () => {
    const edited = {
      ...signed,
      parts: [{ type: 'text' as const, text: 'Changed' }, ...signed.parts.slice(1)],
    }
    expect(sentBack(edited)).toEqual([
      { text: 'Changed' },
      { functionCall: { name: 'f', args: {}, id: 'a' }, thoughtSignature: signaturePlaceholder },
    ])
  })

  it('is mapped plainly when its skeleton was tampered with', () => {
    const tampered = { ...signed, metadata: { google: { provider: 'google', parts: [{ call: 9 }, 'x'] } } }
    expect(sentBack(tampered)).toEqual([
      { text: 'Look: ' },
      { functionCall: { name: 'f', args: {}, id: 'a' }, thoughtSignature: signaturePlaceholder },
    ])
  })
})
