import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { chunk, decode, done, event, ofType, stop } from './chunks.ts'
import { folded } from './foldedDeltas.ts'
import { plainProfile } from './plainProfile.ts'

const target = { provider: 'acme', model: 'm1', profile: plainProfile }
const call = {
  index: 0,
  id: 'a',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
}

describe('text', () => {
  it('gives each piece of text at once', () => {
    const decoder = openaiChat.decoder(target)
    expect(decoder.push(chunk({ role: 'assistant', content: 'Hel' }))).toEqual([
      { type: 'response', id: 'r1' },
      { type: 'text', text: 'Hel' },
    ])
    expect(decoder.push(chunk({ content: 'lo' }))).toEqual([{ type: 'text', text: 'lo' }])
    expect(decoder.push(chunk({ content: '' }))).toEqual([])
    expect(decoder.push(chunk({ content: null }))).toEqual([])
  })

  it('reads content that is a list of parts, with thinking apart', () => {
    const content = [
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'hm' },
          { type: 'reference', reference_ids: [1] },
        ],
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: ' so' }] },
      { type: 'text', text: 'Oslo' },
      { type: 'reference', reference_ids: [2] },
      { type: 'unheard_of', text: 'no' },
      '!',
    ]
    const deltas = decode([chunk({ content }), stop, done])
    expect(folded(deltas)).toMatchObject({ text: 'Oslo!', thinking: 'hm so' })
    expect(ofType(deltas, 'metadata')).toEqual([
      { type: 'metadata', metadata: { citations: [{ type: 'reference', reference_ids: [2] }] } },
    ])
  })

  it('keeps to the first choice', () => {
    const choices = [
      { index: 1, delta: { content: 'no' }, finish_reason: 'length' },
      { index: 0, delta: { content: 'yes' }, finish_reason: 'stop' },
    ]
    expect(folded(decode([event({ choices })]))).toMatchObject({ text: 'yes', finishReason: 'stop' })
  })

  it('ignores empty data, comments in data clothing and unknown events', () => {
    const noise = [{ data: '' }, { data: ': KEEPALIVE' }, { data: '"hi"' }, event({ type: 'ping' }, 'ping')]
    expect(folded(decode([...noise, chunk({ content: 'a' }), ...noise, stop, done]))).toMatchObject({
      text: 'a',
      error: undefined,
    })
  })

  it('keeps refusals out of the text and tells them whole', () => {
    const deltas = decode([chunk({ refusal: 'I can' }), chunk({ refusal: 'not.' }), stop, done])
    expect(deltas.slice(-2)).toEqual([
      { type: 'metadata', metadata: { refusal: 'I cannot.' } },
      { type: 'finish', reason: 'contentFilter', raw: 'stop' },
    ])
    expect(folded(deltas).text).toBe('')
  })
})

describe('the end of a stream', () => {
  it('holds the finish back until nothing can follow', () => {
    const decoder = openaiChat.decoder(target)
    expect(ofType(decoder.push(stop), 'finish')).toEqual([])
    expect(decoder.push(chunk({ content: 'late' }))).toEqual([{ type: 'text', text: 'late' }])
    decoder.push(event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }))
    expect(decoder.push(done)).toEqual([{ type: 'finish', reason: 'stop', raw: 'stop' }])
    expect(decoder.push(chunk({ content: 'ghost' }))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  it('is proper without [DONE] once a finish reason came', () => {
    expect(decode([chunk({ content: 'a' }), stop]).at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
  })

  it('is proper at [DONE] although no finish reason came', () => {
    expect(decode([chunk({ content: 'a' }), done]).at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  it('is a truncation when neither came', () => {
    const deltas = decode([chunk({ content: 'a' })])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
    expect(decode([]).at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated' } })
  })

  it('takes the last finish reason of several', () => {
    const deltas = decode([
      chunk({}, { finish_reason: 'tool_calls' }),
      chunk({}, { finish_reason: 'length' }),
      done,
    ])
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'length', raw: 'length' })
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'toolCalls'],
    ['function_call', 'toolCalls'],
    ['content_filter', 'contentFilter'],
    ['error', 'error'],
    ['SAFETY', 'contentFilter'],
    ['whatever', 'stop'],
    ['__proto__', 'stop'],
  ])('reads the finish word %s as %s and keeps the word', (raw, reason) => {
    expect(decode([chunk({}, { finish_reason: raw }), done]).at(-1)).toEqual({ type: 'finish', reason, raw })
  })

  it('takes a whole JSON answer in place of a stream', () => {
    const message = { role: 'assistant', content: 'Hi', tool_calls: [{ ...call, index: undefined }] }
    const body = {
      id: 'r1',
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    }
    expect(folded(decode([event(body)]))).toMatchObject({
      text: 'Hi',
      toolCalls: [{ id: 'a', arguments: { city: 'Oslo' } }],
      finishReason: 'tool_calls',
      error: undefined,
    })
  })

  it('does not read a message twice that stands beside or after its deltas', () => {
    const message = { content: 'pong' }
    const last = { choices: [{ index: 0, message, finish_reason: 'stop' }], object: 'chat.completion.done' }
    expect(folded(decode([chunk({ content: 'pong' }, { message }), event(last)])).text).toBe('pong')
  })
})

describe('usage', () => {
  it.each([
    ['empty choices', { choices: [] }],
    ['null choices', { choices: null }],
    ['no choices', {}],
    ['a choice beside it', { choices: [{ index: 0, delta: {} }] }],
  ])('is read from a chunk with %s', (_, body) => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    expect(ofType(decode([stop, event({ ...body, usage }), done]), 'usage')).toEqual([
      {
        type: 'usage',
        usage: {
          inputTokens: 10,
          outputTokens: 5,
          totalTokens: 15,
          cachedInputTokens: 4,
          reasoningTokens: 3,
        },
      },
    ])
  })

  it('is read from the corners where Groq and DeepSeek keep it', () => {
    const groq = { choices: [], x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }
    expect(folded(decode([event(groq), stop])).usage).toMatchObject({ input: 1, output: 2 })
    const deepseek = {
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 8 },
    }
    expect(folded(decode([event(deepseek), stop])).usage).toMatchObject({ input: 9, output: 2, cached: 8 })
  })

  it('is not invented from nulls', () => {
    expect(ofType(decode([event({ choices: [], usage: { prompt_tokens: null } }), stop]), 'usage')).toEqual(
      [],
    )
  })
})

describe('tool calls', () => {
  it('are told only right before the finish, in order', () => {
    const second = { index: 1, id: 'b', function: { name: 'get_time', arguments: '' } }
    const decoder = openaiChat.decoder(target)
    const early = [
      ...decoder.push(chunk({ tool_calls: [call, second] })),
      ...decoder.push(chunk({}, { finish_reason: 'tool_calls' })),
    ]
    expect(ofType(early, 'toolCall')).toEqual([])
    expect(ofType(early, 'toolDelta').map((delta) => delta.index)).toEqual([0, 1])
    expect(decoder.push(done)).toEqual([
      { type: 'toolCall', call: { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } } },
      { type: 'toolCall', call: { id: 'b', name: 'get_time', arguments: {} } },
      { type: 'finish', reason: 'toolCalls', raw: 'tool_calls' },
    ])
  })

  it('make a stop a tool finish', () => {
    expect(decode([chunk({ tool_calls: [call] }), stop, done]).at(-1)).toEqual({
      type: 'finish',
      reason: 'toolCalls',
      raw: 'stop',
    })
  })

  it('are told with what is wrong when a proper stream cut them', () => {
    const cut = { ...call, function: { name: 'get_weather', arguments: '{"city":"Osl' } }
    const deltas = decode([chunk({ tool_calls: [cut] }, { finish_reason: 'length' }), done])
    expect(ofType(deltas, 'toolCall')[0]?.call.argumentsError).toBeDefined()
    expect(deltas.at(-1)).toMatchObject({ type: 'finish', reason: 'length' })
  })

  it('of a truncated stream are told only if they are whole, and never finish', () => {
    const open = { index: 1, id: 'b', function: { name: 'get_time', arguments: '{"ci' } }
    const deltas = decode([chunk({ tool_calls: [call, open] })])
    expect(ofType(deltas, 'toolCall').map((delta) => delta.call.id)).toEqual(['a'])
    expect(deltas.at(-1)?.type).toBe('error')
  })

  it('may come as an object or in the shape from before there were tools', () => {
    const object = { index: 0, id: 'a', function: { name: 'get_weather', arguments: { city: 'Oslo' } } }
    expect(folded(decode([chunk({ tool_calls: [object] }), stop])).toolCalls).toEqual([
      { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } },
    ])
    const legacy = [
      chunk({ function_call: { name: 'get_weather', arguments: '{"city":' } }),
      chunk({ function_call: { arguments: '"Oslo"}' } }),
    ]
    expect(folded(decode([...legacy, stop])).toolCalls).toEqual([
      { id: '', name: 'get_weather', arguments: { city: 'Oslo' } },
    ])
  })
})

describe('what comes beside the text', () => {
  it('gives images as parts', () => {
    const images = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    ]
    expect(ofType(decode([chunk({ content: '', images }), stop]), 'part')).toEqual([
      { type: 'part', part: { type: 'data', mimeType: 'image/png', data: 'AAAA' } },
      { type: 'part', part: { type: 'link', url: 'https://x.test/a.png' } },
    ])
  })

  it('joins the pieces of a spoken answer, and keeps its words out of the text', () => {
    const piece = (bytes: number[], transcript: string) =>
      chunk({ audio: { id: 'x', data: Buffer.from(bytes).toString('base64'), transcript } })
    const deltas = decode([piece([1], 'Hel'), piece([2, 3], 'lo'), done])
    expect(folded(deltas).text).toBe('')
    expect(ofType(deltas, 'part')).toEqual([
      {
        type: 'part',
        part: { type: 'data', mimeType: 'audio/pcm', data: Buffer.from([1, 2, 3]).toString('base64') },
      },
    ])
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { transcript: 'Hello' } }])
  })

  it('tells sources once that a server repeats in every chunk', () => {
    const said = (citations: string[]) =>
      event({ citations, choices: [{ index: 0, delta: { content: 'a' } }] })
    const deltas = decode([said(['u1']), said(['u1']), said(['u1', 'u2']), stop])
    expect(ofType(deltas, 'metadata').map((delta) => delta.metadata)).toEqual([
      { citations: ['u1'] },
      { citations: ['u2'] },
    ])
  })

  it('tells annotations as citations', () => {
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://x.test' } }]
    expect(ofType(decode([chunk({ annotations }), stop]), 'metadata')).toEqual([
      { type: 'metadata', metadata: { citations: annotations } },
    ])
  })

  it('tells a tool the server ran once, with its output', () => {
    const ran = { index: 0, type: 'search', output: 'sunny' }
    const deltas = decode([
      chunk({ executed_tools: [{ index: 0, type: 'search' }] }),
      chunk({ executed_tools: [ran] }),
      stop,
    ])
    expect(ofType(deltas, 'metadata')).toEqual([{ type: 'metadata', metadata: { serverTools: [ran] } }])
  })

  it('tells the first response id only, and no empty one', () => {
    const named = (id: string) => event({ id, choices: [] })
    expect(ofType(decode([named(''), named('one'), named('two'), stop]), 'response')).toEqual([
      { type: 'response', id: 'one' },
    ])
  })
})
