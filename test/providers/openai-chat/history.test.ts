import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { describe, expect, it } from 'vitest'
import { type OpenAIChatProfile, openaiChat } from '../../../providers/openai-chat/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  type ChatMessage,
  dataPart,
  linkPart,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../../src/messages/messages.ts'
import { chunk, decode, done, ofType, stop } from './chunks.ts'
import { plainProfile } from './plainProfile.ts'

const send = (messages: ChatMessage[], quirks: Partial<OpenAIChatProfile> = {}, model = 'm1') => {
  const profile = { ...plainProfile, ...quirks }
  return openaiChat.request({ messages }, { provider: 'acme', model, profile }).body.messages
}

const call = (id: string, more: object = {}) =>
  modelMessage([{ type: 'toolCall', id, name: 'get_weather', arguments: { city: 'Oslo' }, ...more }])
const result = (id: string) => userMessage([{ type: 'toolResult', id, name: 'get_weather', result: 'cold' }])

/** Runs a stream and gives the model message the engine would keep of it. */
const received = (deltas: object[], quirks: Partial<OpenAIChatProfile>, thinking?: string): ChatMessage => {
  const all = decode([...deltas.map((delta) => chunk(delta)), stop, done], { quirks })
  const calls = ofType(all, 'toolCall').map(({ call }) => ({ type: 'toolCall' as const, ...call }))
  const opaque = Object.fromEntries(ofType(all, 'opaque').map(({ protocol, data }) => [protocol, data]))
  return modelMessage(calls, { ...opaque, ...(thinking !== undefined && { thinking }) })
}

describe('a history', () => {
  it('has its system texts first, wherever they are', () => {
    expect(
      send([userMessage('a'), systemMessage('S1'), modelMessage('b'), systemMessage('S2'), userMessage('c')]),
    ).toEqual([
      { role: 'system', content: 'S1\n\nS2' },
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ] satisfies ChatCompletionMessageParam[])
  })

  it('from another provider goes out without its thinking, its signatures and its empty messages', () => {
    const foreign: JsonObject = {
      thinking: 'secret',
      anthropic: { provider: 'anthropic', blocks: [{ signature: 's' }] },
      'openai-chat': {
        provider: 'openrouter',
        model: 'm1',
        reasoningDetails: [{}],
        thinking: true,
        ownIds: true,
      },
    }
    const messages = [
      userMessage('a'),
      modelMessage([], foreign),
      modelMessage([{ type: 'data', mimeType: 'image/png', data: 'AA' }]),
      { ...call('toolu_1'), metadata: foreign },
      result('toolu_1'),
    ]
    const golden = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'toolu_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'cold' },
    ] satisfies ChatCompletionMessageParam[]
    expect(send(messages)).toEqual(golden)
    expect(send(messages, { reasoningReplay: 'reasoning_details' })).toEqual(golden)
  })

  it('never sends arguments back that did not parse', () => {
    const broken = call('a', { arguments: {}, argumentsRaw: '{"city":"Osl', argumentsError: 'cut' })
    expect(JSON.stringify(send([broken]))).toContain('"arguments":"{}"')
  })

  it('gives a spoken answer back as its words', () => {
    expect(send([modelMessage([dataPart('audio/pcm', 'AA')], { transcript: 'Hello' })])).toEqual([
      { role: 'assistant', content: 'Hello' },
    ])
  })

  it('puts a word between tool results and the user where a model insists', () => {
    const turns = [call('a'), result('a'), userMessage('go on')]
    const roles = (quirks: Partial<OpenAIChatProfile>) =>
      [send(turns, quirks)].flat().map((message) => JSON.parse(JSON.stringify(message)).role)
    expect(roles({})).toEqual(['assistant', 'tool', 'user'])
    expect(roles({ bridgesToolResults: true })).toEqual(['assistant', 'tool', 'assistant', 'user'])
  })
})

describe('ids of tool calls', () => {
  const long = `toolu_${'x'.repeat(60)}`
  const idsIn = (messages: ChatMessage[], quirks: Partial<OpenAIChatProfile> = {}, model = 'm1') => {
    const text = JSON.stringify(send(messages, quirks, model))
    return [...text.matchAll(/"(?:id|tool_call_id)":"([^"]*)"/g)].map((match) => match[1])
  }

  it('of another provider are replaced where they are too long, alike for call and result', () => {
    const [first, second] = idsIn([call(long), result(long)])
    expect(first).toBe(second)
    expect(first).toMatch(/^[a-z0-9]{13}$/)
    const [other] = idsIn([call(`${long}y`)])
    expect(other).not.toBe(first)
  })

  it('stay as they are where a server does not care', () => {
    expect(idsIn([call(long), result(long)], { toolCallIds: 'any' })).toEqual([long, long])
  })

  it('stay as they are for the model that made them, and for no other', () => {
    const tool_calls = [{ index: 0, id: long, function: { name: 'get_weather', arguments: '{}' } }]
    const turns = [received([{ tool_calls }], {}), result(long)]
    expect(idsIn(turns)).toEqual([long, long])
    expect(idsIn(turns, {}, 'm2')).not.toContain(long)
  })
})

describe('reasoning that has to go back', () => {
  it('goes into no field that a history from elsewhere names', () => {
    const turnWith = (reasoningField: string): ChatMessage => ({
      ...call('a'),
      metadata: { thinking: 'hm', 'openai-chat': { provider: 'acme', model: 'm1', reasoningField } },
    })
    expect(JSON.stringify(send([turnWith('reasoning')]))).toContain('"reasoning":"hm"')
    expect(JSON.stringify(send([turnWith('role')]))).not.toContain('hm')
  })

  const tool_calls = [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }]
  const wireCall = { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }

  it('goes back byte for byte as reasoning_details to the same model only', () => {
    const quirks = { reasoningReplay: 'reasoning_details' } as const
    const reasoning_details = [
      { type: 'reasoning.text', text: 'hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'zzz', id: 'rs_1', format: 'openai-responses-v1', index: 1 },
    ]
    const turn = received([{ reasoning: 'hm', reasoning_details }, { tool_calls }], quirks, 'hm')
    const golden = [
      { role: 'assistant', content: null, tool_calls: [wireCall], reasoning_details },
    ] satisfies (ChatCompletionAssistantMessageParam & { reasoning_details: object[] })[]
    expect(send([turn], quirks)).toEqual(golden)
    expect(JSON.stringify(send([turn], quirks, 'm2'))).not.toContain('reasoning')
    expect(JSON.stringify(send([turn], { reasoningReplay: 'none' }))).not.toContain('reasoning')
  })

  it('goes back as reasoning_content, which tool calls carry even when it is empty', () => {
    const quirks = { reasoningReplay: 'reasoning_content' } as const
    const thought = received([{ reasoning_content: 'hm' }, { tool_calls }], quirks, 'hm')
    const golden = [
      { role: 'assistant', content: null, tool_calls: [wireCall], reasoning_content: 'hm' },
      { role: 'assistant', content: null, tool_calls: [wireCall], reasoning_content: ' ' },
      { role: 'assistant', content: 'Hi' },
    ] satisfies (ChatCompletionAssistantMessageParam & { reasoning_content?: string })[]
    const foreign = modelMessage(thought.parts, { thinking: 'of another provider' })
    expect(send([thought, foreign, modelMessage('Hi', { thinking: 'foreign' })], quirks)).toEqual(golden)
  })

  it('goes back as the text that a custom tool took', () => {
    const calls = [
      { index: 0, id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]
    const golden = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
    ] satisfies ChatCompletionMessageParam[]
    expect(send([received([{ tool_calls: calls }], {})])).toEqual(golden)
  })

  it('goes back on the very call that Google signed', () => {
    const extra_content = { google: { thought_signature: 'sig==' } }
    const signed = [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content },
      { index: 1, id: 'b', function: { name: 'g', arguments: '{}' } },
    ]
    const turn = received([{ tool_calls: signed }], {})
    expect(send([turn])).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { ...wireCall, extra_content },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
    ])
  })
})

describe('attachments', () => {
  it('go along in the shapes of OpenAI', () => {
    const golden = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
          { type: 'input_audio', input_audio: { data: 'CCCC', format: 'mp3' } },
          { type: 'text', text: 'plain words' },
        ],
      },
    ] satisfies ChatCompletionMessageParam[]
    const parts = [
      { type: 'text' as const, text: 'What is this?' },
      dataPart('image/png', 'AAAA'),
      linkPart('https://x.test/a.png'),
      dataPart('application/pdf', 'BBBB', 'a.pdf'),
      dataPart('audio/mpeg', 'CCCC'),
      dataPart('text/plain', Buffer.from('plain words')),
    ]
    expect(send([userMessage(parts)])).toEqual(golden)
  })

  it('that are text need no list', () => {
    const parts = [{ type: 'text' as const, text: 'Sum up:' }, dataPart('text/csv', Buffer.from('a,b'))]
    expect(send([userMessage(parts)])).toEqual([{ role: 'user', content: 'Sum up:\n\na,b' }])
  })

  it('go along as links to PDFs where the server fetches them', () => {
    const link = userMessage([linkPart('https://x.test/a.pdf', 'application/pdf')])
    expect(JSON.stringify(send([link], { pdfLinks: true }))).toContain('"file_data":"https://x.test/a.pdf"')
    expect(() => send([link])).toThrow(
      'acme:m1 cannot read the link https://x.test/a.pdf (application/pdf). Fetch it and attach its bytes',
    )
  })

  const none = { attachments: { images: false, pdf: false, audio: false, links: false } }
  it.each([
    [dataPart('image/png', 'AA'), none, 'acme:m1 cannot read an attachment of type image/png'],
    [dataPart('application/pdf', 'AA'), none, 'cannot read an attachment of type application/pdf'],
    [dataPart('audio/wav', 'AA'), none, 'cannot read an attachment of type audio/wav'],
    [linkPart('https://x.test'), none, 'cannot read the link https://x.test (unknown type)'],
    [dataPart('audio/ogg', 'AA'), {}, 'Convert it to WAV or MP3.'],
    [dataPart('video/mp4', 'AA'), {}, 'cannot read an attachment of type video/mp4'],
  ])('%j that a model cannot read are refused with advice', (part, quirks, message) => {
    expect(() => send([userMessage([part])], quirks)).toThrow(message)
  })
})
