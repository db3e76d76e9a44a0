import { describe, expect, it } from 'vitest'
import { chunk, decode, done, ofType, stop } from './chunks.ts'
import { folded } from './foldedDeltas.ts'

describe('thinking in a field of its own', () => {
  it.each(['reasoning_content', 'reasoning'])('is read from %s', (field) => {
    const deltas = decode([chunk({ [field]: 'hm' }), chunk({ content: 'Hi' }), stop])
    expect(folded(deltas)).toMatchObject({ thinking: 'hm', text: 'Hi' })
  })

  it('is counted once when a plain field and the details say the same', () => {
    const reasoning_details = [{ type: 'reasoning.text', text: 'hm', index: 0 }]
    expect(folded(decode([chunk({ reasoning: 'hm', reasoning_details }), stop])).thinking).toBe('hm')
    expect(folded(decode([chunk({ reasoning: 'hm', reasoning_content: 'hm' }), stop])).thinking).toBe('hm')
  })

  it('is read from the details when nothing else has it', () => {
    const reasoning_details = [
      { type: 'reasoning.text', text: 'a' },
      { type: 'reasoning.summary', summary: 'b' },
      { type: 'reasoning.encrypted', data: 'zzz' },
    ]
    expect(folded(decode([chunk({ content: '', reasoning_details }), stop])).thinking).toBe('ab')
  })
})

describe('details kept for the replay', () => {
  const kept = (...deltas: object[]) => {
    const events = [...deltas.map((reasoning_details) => chunk({ reasoning_details })), stop, done]
    return ofType(decode(events, { quirks: { reasoningReplay: 'reasoning_details' } }), 'opaque')
  }

  it('joins text, takes a signature that comes alone, and leaves encrypted blocks as they are', () => {
    const encrypted = { type: 'reasoning.encrypted', data: 'abc', id: 'rs_1', format: 'f', index: 0 }
    expect(
      kept(
        [{ type: 'reasoning.text', text: 'I ', index: 0, format: 'anthropic-claude-v1' }],
        [{ type: 'reasoning.text', text: 'think', index: 0, signature: null }],
        [{ type: 'reasoning.text', signature: 'sig', index: 0 }],
        [encrypted],
        [encrypted],
      ),
    ).toEqual([
      {
        type: 'opaque',
        protocol: 'openai-chat',
        data: {
          provider: 'acme',
          model: 'm1',
          reasoningDetails: [
            {
              type: 'reasoning.text',
              text: 'I think',
              index: 0,
              format: 'anthropic-claude-v1',
              signature: 'sig',
            },
            encrypted,
            encrypted,
          ],
        },
      },
    ])
  })

  it('keeps blocks apart that are signed or have another index', () => {
    const block = (text: string, index: number, signature?: string) => [
      { type: 'reasoning.text', text, index, ...(signature && { signature }) },
    ]
    const [opaque] = kept(block('a', 0, 's1'), block('b', 0, 's2'), block('c', 1))
    expect(opaque?.data.reasoningDetails).toEqual([
      ...block('a', 0, 's1'),
      ...block('b', 0, 's2'),
      ...block('c', 1),
    ])
  })

  it('says nothing where nothing is to be replayed', () => {
    const reasoning_details = [{ type: 'reasoning.text', text: 'a' }]
    const deltas = decode([chunk({ reasoning_details, reasoning: 'a' }), stop], {
      quirks: { reasoningReplay: 'none' },
    })
    expect(ofType(deltas, 'opaque')).toEqual([])
    expect(ofType(decode([chunk({ content: 'a' }), stop]), 'opaque')).toEqual([])
  })

  it('keeps what the server sent where nothing else is said: details, or the name of the plain field', () => {
    const reasoning_details = [{ type: 'reasoning.text', text: 'a' }]
    const dataOf = (delta: object) => ofType(decode([chunk({ ...delta }), stop]), 'opaque')[0]?.data
    expect(dataOf({ reasoning_details, reasoning: 'a' })).toMatchObject({
      reasoningDetails: reasoning_details,
    })
    expect(dataOf({ reasoning_details, reasoning: 'a' })).not.toHaveProperty('reasoningField')
    expect(dataOf({ reasoning: 'a' })).toMatchObject({ reasoningField: 'reasoning' })
    expect(dataOf({ reasoning_content: 'a' })).toMatchObject({ reasoningField: 'reasoning_content' })
  })
})

describe('thinking in tags', () => {
  const split = (pieces: string[], splitThinkTags: boolean | 'opened' = true) => {
    const { text, thinking } = folded(
      decode([...pieces.map((content) => chunk({ content })), stop], { quirks: { splitThinkTags } }),
    )
    return { text, thinking }
  }
  const answer = '<think>I wonder</think>\n\nOslo, in <b>Norway</b>'

  it('stays text unless the profile says so', () => {
    expect(split([answer], false)).toEqual({ text: answer, thinking: '' })
  })

  it('is found wherever the pieces are cut', () => {
    const expected = { text: 'Oslo, in <b>Norway</b>', thinking: 'I wonder' }
    for (let at = 0; at <= answer.length; at++) {
      expect(split([answer.slice(0, at), answer.slice(at)])).toEqual(expected)
    }
    expect(split([...answer])).toEqual(expected)
  })

  it('is found after blank space, and the closing tag alone is enough where the template opened it', () => {
    expect(split(['\n ', '<thi', 'nk>a</think>b'])).toEqual({ text: 'b', thinking: 'a' })
    expect(split(['a</th', 'ink>b'], 'opened')).toEqual({ text: 'b', thinking: 'a' })
    expect(split(['<think>a</think>b'], 'opened')).toEqual({ text: 'b', thinking: 'a' })
  })

  it('is not found in the middle of an answer', () => {
    const literal = 'Use <think> and </think>.'
    expect(split([...literal])).toEqual({ text: literal, thinking: '' })
    expect(split(['<think>a</think>', literal])).toEqual({ text: literal, thinking: 'a' })
  })

  it('gives back what only looked like a tag', () => {
    expect(split(['<thi'])).toEqual({ text: '<thi', thinking: '' })
    expect(split(['<thi', 'ef>'])).toEqual({ text: '<thief>', thinking: '' })
    expect(split(['<think>a</th'])).toEqual({ text: '', thinking: 'a</th' })
    expect(split(['<think>a</th', 'e'])).toEqual({ text: '', thinking: 'a</the' })
  })

  it('does not hold text back while it thinks', () => {
    const deltas = decode([chunk({ content: '<think>one' }), chunk({ content: ' two' }), stop], {
      quirks: { splitThinkTags: true },
    })
    expect(ofType(deltas, 'thinking').map((delta) => delta.text)).toEqual(['one', ' two'])
  })
})
