import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  dataPart,
  linkPart,
  modelMessage,
  systemMessage,
  textPart,
  userMessage,
} from '../../../src/messages/messages.ts'
import { bodyOf, target } from './responsesFixtures.ts'

const city: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

describe('a request', () => {
  it('goes to /responses as a stream, with the system text as instructions', () => {
    const messages = [systemMessage('Be brief.'), userMessage('Hi'), systemMessage('Be kind.')]
    const { path, body } = openaiResponses.request({ messages, cache: 'off' }, target())
    const golden = {
      model: 'gpt-5-mini',
      instructions: 'Be brief.\n\nBe kind.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    expect(path).toBe('/responses')
    expect(body).toEqual(golden)
  })

  it('carries every setting the API knows and none it does not', () => {
    const body = bodyOf({
      messages: [userMessage('Hi')],
      tools: [
        { name: 'get_weather', description: 'Weather in a city', inputSchema: city },
        {
          name: 'search',
          description: 'Finds',
          inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
        },
        { name: 'ping', description: 'Pings', inputSchema: {} },
      ],
      toolChoice: { tool: 'get_weather' },
      parallelToolCalls: false,
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 500,
      stopSequences: ['END'],
      seed: 7,
      thinking: { effort: 'low', budgetTokens: 100 },
      outputSchema: city,
      providerOptions: { service_tier: 'flex', temperature: 0.3 },
    })
    const golden = {
      model: 'gpt-5-mini',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      tools: [
        {
          type: 'function',
          name: 'get_weather',
          description: 'Weather in a city',
          parameters: city,
          strict: true,
        },
        {
          type: 'function',
          name: 'search',
          description: 'Finds',
          parameters: { type: 'object', properties: { q: { type: 'string' } } },
          strict: false,
        },
        {
          type: 'function',
          name: 'ping',
          description: 'Pings',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
      temperature: 0.3,
      top_p: 0.9,
      max_output_tokens: 500,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'answer', schema: city, strict: true } },
      stream: true,
      service_tier: 'flex',
    } satisfies ResponseCreateParamsStreaming
    expect(body).toEqual(golden)
  })

  it('asks a model for thinking only if it can think', () => {
    const messages = [userMessage('Hi')]
    expect(bodyOf({ messages, thinking: true })).toMatchObject({
      reasoning: { effort: 'medium', summary: 'auto' },
    })
    expect(bodyOf({ messages, thinking: true }, { thinking: false })).not.toHaveProperty('reasoning')
    expect(bodyOf({ messages, thinking: false }, { efforts: ['minimal', 'low'] })).toMatchObject({
      reasoning: { effort: 'minimal' },
    })
    expect(bodyOf({ messages, thinking: false })).toMatchObject({ reasoning: { effort: 'none' } })
    expect(bodyOf({ messages })).not.toHaveProperty('reasoning')
  })

  it('leaves sampling out for models that refuse it', () => {
    const body = bodyOf(
      { messages: [userMessage('Hi')], temperature: 1, topP: 1 },
      {
        refuses: ['temperature', 'topP'],
      },
    )
    expect(body).not.toHaveProperty('temperature')
    expect(body).not.toHaveProperty('top_p')
  })

  it('says nothing about tools when there are none', () => {
    const body = bodyOf({
      messages: [userMessage('Hi')],
      tools: [],
      toolChoice: 'required',
      parallelToolCalls: true,
    })
    expect(Object.keys(body)).toEqual(['model', 'input', 'stream'])
  })

  it('sends the system prompt as a message to servers that have no instructions', () => {
    const messages = [systemMessage('Be brief.'), userMessage('Hi')]
    const body = bodyOf({ messages }, { systemAsMessage: true })
    expect(body).not.toHaveProperty('instructions')
    expect(body.input).toMatchObject([{ role: 'system', content: 'Be brief.' }, { role: 'user' }])
  })
})

describe('attachments', () => {
  const contentOf = (body: JsonObject) => (body as { input: { content: unknown }[] }).input[0]?.content

  it('are sent inline or by address in the shapes of the API', () => {
    const body = bodyOf({
      messages: [
        userMessage([
          textPart('Look'),
          dataPart('image/png', 'AAAA'),
          dataPart('application/pdf', 'BBBB', 'report.pdf'),
          dataPart('application/pdf', 'CCCC'),
          dataPart('text/csv', Buffer.from('a,b\n1,2')),
          linkPart('https://example.org/cat'),
          linkPart('https://example.org/paper.pdf?v=2'),
        ]),
      ],
    })
    const golden = {
      model: 'gpt-5-mini',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
            { type: 'input_file', filename: 'report.pdf', file_data: 'data:application/pdf;base64,BBBB' },
            { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,CCCC' },
            { type: 'input_text', text: 'a,b\n1,2' },
            { type: 'input_image', image_url: 'https://example.org/cat', detail: 'auto' },
            { type: 'input_file', file_url: 'https://example.org/paper.pdf?v=2' },
          ],
        },
      ],
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    expect(body).toEqual(golden)
  })

  it('that the model cannot read are refused by name before anything is sent', () => {
    const send = (part: ReturnType<typeof dataPart> | ReturnType<typeof linkPart>, images: boolean) =>
      bodyOf(
        { messages: [userMessage([part])] },
        { attachments: { images, pdf: false, audio: false, links: images } },
      )
    expect(() => send(dataPart('audio/mpeg', 'AAAA'), true)).toThrow(ConfigurationError)
    expect(() => send(dataPart('audio/mpeg', 'AAAA'), true)).toThrow(
      /openai-responses.*gpt-5-mini.*audio\/mpeg/,
    )
    expect(() => send(dataPart('image/png', 'AAAA'), false)).toThrow(/image\/png/)
    expect(() => send(dataPart('application/pdf', 'AAAA'), true)).toThrow(/application\/pdf/)
    expect(() => send(linkPart('https://example.org/cat.png'), false)).toThrow(
      /the link https:\/\/example.org\/cat.png/,
    )
  })

  it('of any other file type are sent to servers that read them', () => {
    const part = dataPart('application/msword', 'AAAA', 'letter.doc')
    expect(() => bodyOf({ messages: [userMessage([part])] })).toThrow(ConfigurationError)
    expect(contentOf(bodyOf({ messages: [userMessage([part])] }, { anyFile: true }))).toEqual([
      { type: 'input_file', filename: 'letter.doc', file_data: 'data:application/msword;base64,AAAA' },
    ])
  })

  it('the model made itself are shown to it again as the user’s', () => {
    const messages = [userMessage('Draw'), modelMessage([textPart('Here.'), dataPart('image/png', 'AAAA')])]
    expect(bodyOf({ messages }).input).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Here.' },
      { role: 'user', content: [{ type: 'input_image' }] },
    ])
  })
})
