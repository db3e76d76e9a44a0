/** The parts of an OpenAI request that count, in both of its forms: field by field, right, missing and wrong. */
import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'
import { readChatRequest, readResponsesRequest } from '../../../src/ui/openai/readRequest.ts'
import { HttpError } from '../../../src/ui/request.ts'

const user = (content: JsonValue) => ({ role: 'user', content })
const text = (value: string) => ({ type: 'text', text: value })
const chat = (over: JsonObject = {}) => readChatRequest({ model: 'helper', messages: [user('hi')], ...over })
const responses = (over: JsonObject = {}) =>
  readResponsesRequest({ model: 'helper', input: 'hi', ...over }, [])
const refusal = (read: () => unknown) => {
  try {
    read()
  } catch (thrown) {
    if (thrown instanceof HttpError) return [thrown.status, thrown.code, thrown.message]
  }
  return undefined
}
const plain = {
  model: 'helper',
  prompt: [text('hi')],
  history: [],
  tools: [],
  isStream: false,
  schema: undefined,
}

describe('a plain request', () => {
  test('is a prompt for a model', () => {
    expect(chat()).toStrictEqual(plain)
    expect(responses()).toStrictEqual(plain)
    expect(responses({ input: [user('hi')] })).toStrictEqual(plain)
  })

  test('is a stream if it says so', () => {
    for (const read of [chat, responses]) {
      expect(read({ stream: true }).isStream).toBe(true)
      expect(read({ stream: 'yes' }).isStream).toBe(false)
    }
  })

  test('may have options that change nothing here', () => {
    const plainText = { type: 'text' }
    expect(chat({ n: 1, response_format: plainText, temperature: 1 })).toStrictEqual(plain)
    expect(chat({ n: '2', response_format: 'json' })).toStrictEqual(plain)
    const many = { previous_response_id: null, background: false, text: { format: plainText } }
    expect(responses(many)).toStrictEqual(plain)
    expect(responses({ text: 'x', background: 'yes', instructions: null })).toStrictEqual(plain)
  })

  test.each<[string, () => unknown, string, string]>([
    ['no model', () => chat({ model: null }), 'invalid_request', 'model must be'],
    ['no messages', () => chat({ messages: null }), 'invalid_request', 'messages must be a list.'],
    ['no input', () => responses({ input: 7 }), 'invalid_request', 'input must be a list.'],
    ['no tools', () => chat({ tools: 'x' }), 'invalid_request', 'tools must be a list.'],
    ['no tools', () => responses({ tools: 'x' }), 'invalid_request', 'tools must be a list.'],
    ['an empty list', () => chat({ messages: [] }), 'invalid_request', 'must be from the user or a tool'],
    [
      'an answer at its end',
      () => chat({ messages: [user('hi'), { role: 'assistant', content: 'yes' }] }),
      'invalid_request',
      'must be from the user or a tool',
    ],
    ['an empty prompt', () => chat({ messages: [user('')] }), 'invalid_request', 'must not be empty'],
    ['several answers', () => chat({ n: 2 }), 'unsupported_parameter', 'n is not supported'],
    [
      'a shape',
      () => chat({ response_format: { type: 'grammar' } }),
      'unsupported_parameter',
      'response_format is not supported',
    ],
    [
      'a shape',
      () => responses({ text: { format: { type: 'json_schema' } } }),
      'unsupported_parameter',
      'text.format is not supported',
    ],
    ['a wish to wait', () => responses({ background: true }), 'unsupported_parameter', 'background is not'],
    [
      'an unknown role',
      () => chat({ messages: [{ role: 'king', content: 'hi' }] }),
      'invalid_request',
      'of type "king" is not supported',
    ],
    [
      'an unknown item',
      () => responses({ input: [{ type: 'item_reference', role: 'x' }] }),
      'invalid_request',
      'of type "item_reference" is not supported',
    ],
  ])('with %s is refused', (_, read, code, message) => {
    expect(refusal(read)).toStrictEqual([400, code, expect.stringContaining(message)])
  })
})

describe('the tools of a client', () => {
  const parameters = { type: 'object', properties: { word: { type: 'string' } } }
  const none = { type: 'object', properties: {} }
  const lookUp = { name: 'look_up', description: 'Looks up', parameters }

  test('are functions, described in each form in its way', () => {
    const asFunction = (described: JsonValue) => ({ type: 'function', function: described })
    const read = [
      lookUp,
      { name: 'bare', description: '', parameters: none },
      { name: '', description: '', parameters: none },
    ]
    const wrong = { name: 7, description: 7, parameters: 7 }
    const bare = { name: 'bare' }
    expect(chat({ tools: [asFunction(lookUp), asFunction(bare), asFunction(wrong), 7] }).tools).toStrictEqual(
      read,
    )
    const flat = [lookUp, bare, wrong].map((described) => ({ type: 'function', ...described }))
    expect(responses({ tools: flat }).tools).toStrictEqual(read)
  })

  test.each<[string, () => unknown]>([
    ['of another type', () => chat({ tools: [{ type: 'custom', function: lookUp }] })],
    ['without a function', () => chat({ tools: [{ type: 'function', ...lookUp }] })],
    ['of the server', () => responses({ tools: [{ type: 'web_search' }] })],
  ])('%s are refused', (_, read) => {
    expect(refusal(read)).toStrictEqual([
      400,
      'unsupported_parameter',
      expect.stringContaining('tools is not supported'),
    ])
  })
})

describe('a conversation', () => {
  const system = (value: string) => ({ role: 'system', parts: [text(value)] })
  const toolCall = (id: string, args: JsonObject = {}) => ({
    type: 'toolCall',
    id,
    name: 'look',
    arguments: args,
  })
  const toolResult = (id: string, result: string) => ({ type: 'toolResult', id, name: 'look', result })
  const noResult = (id: string) => ({
    type: 'toolResult',
    id,
    name: 'look',
    result: '{"error":"This call did not run: no decision was made on it."}',
    isError: true,
  })
  const called = (id: JsonValue, args: JsonValue = '{}') => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: args },
  })
  const chatWith = (...messages: JsonObject[]) => {
    const { prompt, history } = chat({ messages })
    return { prompt, history }
  }
  const responsesWith = (...items: JsonObject[]) => {
    const { prompt, history } = responses({ input: items })
    return { prompt, history }
  }

  test('of messages ends with the prompt, and begins with what the system says', () => {
    expect(
      chatWith(
        user('One'),
        { role: 'system', content: 'Be brief.' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'developer', content: [text('Be kind.')] },
        user('Two'),
      ),
    ).toStrictEqual({
      prompt: [text('Two')],
      history: [
        system('Be brief.'),
        system('Be kind.'),
        { role: 'user', parts: [text('One')] },
        { role: 'model', parts: [text('Yes.')] },
      ],
    })
    expect(responses({ instructions: 'Be brief.' }).history).toStrictEqual([system('Be brief.')])
  })

  test('may end with the results of calls, which are answered as they are', () => {
    const expected = {
      prompt: [],
      history: [
        { role: 'user', parts: [text('Look')] },
        { role: 'model', parts: [text('I look.'), toolCall('c1', { at: 'sea' }), toolCall('c2')] },
        { role: 'user', parts: [toolResult('c1', 'seen'), toolResult('c2', '')] },
      ],
    }
    expect(
      chatWith(
        user('Look'),
        { role: 'assistant', content: 'I look.', tool_calls: [called('c1', '{"at":"sea"}'), called('c2')] },
        { role: 'tool', tool_call_id: 'c1', content: [text('seen')] },
        { role: 'tool', tool_call_id: 'c2', content: '' },
      ),
    ).toStrictEqual(expected)
    const item = { type: 'function_call', name: 'look' }
    expect(
      responsesWith(
        user('Look'),
        { type: 'reasoning', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        { ...item, call_id: 'c1', arguments: '{"at":"sea"}' },
        { ...item, call_id: 'c2', arguments: '' },
        { type: 'function_call_output', call_id: 'c1', output: 'seen' },
        { type: 'function_call_output', call_id: 'c2', output: [] },
      ),
    ).toStrictEqual(expected)
  })

  test('has the calls of another round after the results of the first', () => {
    const item = { type: 'function_call', name: 'look', arguments: '{}' }
    const output = { type: 'function_call_output', output: 'seen' }
    expect(
      responsesWith(
        user('Look'),
        { ...item, call_id: 'c1' },
        { ...output, call_id: 'c1' },
        { ...item, call_id: 'c2' },
        { ...item, call_id: 'c3' },
        { ...output, call_id: 'c3' },
        { ...output, call_id: 'c2' },
        { role: 'assistant', content: 'There.' },
        user('Thanks'),
      ),
    ).toStrictEqual({
      prompt: [text('Thanks')],
      history: [
        { role: 'user', parts: [text('Look')] },
        { role: 'model', parts: [toolCall('c1')] },
        { role: 'user', parts: [toolResult('c1', 'seen')] },
        { role: 'model', parts: [toolCall('c2'), toolCall('c3')] },
        { role: 'user', parts: [toolResult('c2', 'seen'), toolResult('c3', 'seen')] },
        { role: 'model', parts: [text('There.')] },
      ],
    })
  })

  test('has one message of prompts that follow each other', () => {
    expect(chatWith(user('One'), user('Two'))).toStrictEqual({
      prompt: [text('One'), text('Two')],
      history: [],
    })
  })

  test.each<[string, JsonObject]>([
    ['of another call', { role: 'tool', tool_call_id: 'c9', content: 'x' }],
    ['without an id', { role: 'tool', content: 'x' }],
  ])('does not take a result %s', (_, result) => {
    const calls = { role: 'assistant', tool_calls: [called('c1')] }
    expect(chatWith(calls, result).history[1]?.parts).toStrictEqual([noResult('c1')])
    expect(chatWith(result, user('hi')).history).toStrictEqual([])
  })

  test('does not take a result after something else was said', () => {
    const late = { role: 'tool', tool_call_id: 'c1', content: 'x' }
    const calls = { role: 'assistant', tool_calls: [called('c1')] }
    expect(chatWith(calls, user('hi'), late).history[1]?.parts).toStrictEqual([noResult('c1'), text('hi')])
  })

  test.each<[string, JsonValue, object[]]>([
    ['no list', 'x', []],
    ['no objects', [7, null], []],
    ['no function', [{ id: 'c1', function: 'look' }], []],
    ['no id', [called(7)], []],
    ['no name', [{ id: 'c1', function: { name: 7, arguments: '{}' } }], [{ ...toolCall('c1'), name: '' }]],
    ['arguments that are not a text', [called('c1', { at: 'sea' })], [toolCall('c1')]],
    ['arguments that are not JSON', [called('c1', '{"at')], [toolCall('c1')]],
  ])('has calls with %s', (_, tool_calls, expected) => {
    const asked = { role: 'assistant', content: 'I look.', tool_calls }
    const { history } = chatWith(asked, user('hi'))
    expect(history[0]?.parts).toStrictEqual([text('I look.'), ...expected])
  })
})

describe('a part', () => {
  const promptOf = (...content: JsonValue[]) => chat({ messages: [user(content)] }).prompt
  const data = (mimeType: string, over: object = {}) => ({ type: 'data', mimeType, data: 'AAAA', ...over })
  const png = 'data:image/png;base64,AAAA'
  const url = 'https://example.com/a.png'

  test.each<[string, JsonObject, object]>([
    ['text', { type: 'input_text', text: 'a' }, text('a')],
    ['an image', { type: 'image_url', image_url: { url: png } }, data('image/png')],
    ['an image by its address', { type: 'image_url', image_url: url }, { type: 'link', url }],
    ['an image of a response', { type: 'input_image', image_url: png }, data('image/png')],
    ['sound', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, data('audio/wav')],
    [
      'a file',
      { type: 'file', file: { file_data: png, filename: 'a.png' } },
      data('image/png', { name: 'a.png' }),
    ],
    ['a file without a name', { type: 'file', file: { file_data: png, filename: 7 } }, data('image/png')],
    [
      'a file of a response',
      { type: 'input_file', file_data: png, filename: 'a.png', file_url: url },
      data('image/png', { name: 'a.png' }),
    ],
    ['a file of a response by its address', { type: 'input_file', file_url: url }, { type: 'link', url }],
  ])('is %s', (_, part, expected) => {
    expect(promptOf(part)).toStrictEqual([expected])
  })

  test('that is empty, or is not an object, is left out', () => {
    expect(promptOf(text(''), 7, null, 'x', text('a'))).toStrictEqual([text('a')])
  })

  test.each<[string, JsonObject]>([
    ['an unknown type', { type: 'hologram', image_url: png, file_data: png }],
    ['the sound of another type', { type: 'hologram', input_audio: { data: 'AAAA', format: 'wav' } }],
    ['the file of another type', { type: 'hologram', file: { file_data: png } }],
    ['no type', { image_url: png }],
    ['an image without an address', { type: 'image_url', image_url: { url: 7 } }],
    ['an image of nothing', { type: 'input_image' }],
    ['an image of another kind', { type: 'input_image', image_url: { url: png } }],
    ['sound without bytes', { type: 'input_audio', input_audio: { format: 'wav' } }],
    ['sound without a format', { type: 'input_audio', input_audio: { data: 'AAAA' } }],
    ['no sound', { type: 'input_audio', input_audio: 'AAAA' }],
    ['a file by its id', { type: 'file', file: { file_id: 'f1' } }],
    ['no file', { type: 'file', file: png }],
    ['an address of this machine', { type: 'input_file', file_url: 'file:///etc/passwd' }],
  ])('with %s is refused', (_, part) => {
    const shown = `A part of type ${JSON.stringify(part.type)} is not supported.`
    expect(refusal(() => promptOf(part))).toStrictEqual([400, 'invalid_request', shown])
  })
})
