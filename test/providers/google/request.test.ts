import { describe, expect, it } from 'vitest'
import { type GoogleProfile, geminiProfile, google } from '../../../providers/google/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  type ChatMessage,
  dataPart,
  linkPart,
  modelMessage,
  type Part,
  systemMessage,
  textPart,
  userMessage,
} from '../../../src/messages/messages.ts'
import type { ModelRequest, ToolChoice } from '../../../src/model/chatModel.ts'
import type { GenerateContentBody } from './wireTypes.ts'

const bodyFor = (model: string, request: ModelRequest, profile?: Partial<GoogleProfile>): JsonObject =>
  google.request(request, { provider: 'google', model, profile: { ...geminiProfile(model), ...profile } })
    .body

const contentsFor = (model: string, messages: ChatMessage[]) => bodyFor(model, { messages }).contents

const call = (id: string, name: string, args: JsonObject = {}): Part => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
})
const result = (id: string, name: string, text: string, isError?: boolean): Part => ({
  type: 'toolResult',
  id,
  name,
  result: text,
  ...(isError && { isError }),
})
const hi = [userMessage('hi')]

describe('where a request goes', () => {
  const pathFor = (model: string) =>
    google.request({ messages: hi }, { provider: 'google', model, profile: geminiProfile(model) }).path

  it('streams server-sent events from the model', () => {
    expect(pathFor('gemini-3-flash')).toBe('/models/gemini-3-flash:streamGenerateContent?alt=sse')
  })

  it('keeps the collection a name already has', () => {
    expect(pathFor('models/gemini-3-flash')).toBe('/models/gemini-3-flash:streamGenerateContent?alt=sse')
    expect(pathFor('tunedModels/mine')).toBe('/tunedModels/mine:streamGenerateContent?alt=sse')
  })

  it('lets no model name reach into the query', () => {
    expect(pathFor('x?key=1#y')).toBe('/models/x%3Fkey%3D1%23y:streamGenerateContent?alt=sse')
  })
})

describe('a whole request', () => {
  it('says a full tool conversation in Gemini 3 words', () => {
    const golden = {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Weather in Oslo and Rome?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Let me look.' },
            {
              functionCall: { name: 'get_weather', args: { city: 'Oslo' }, id: 'a' },
              thoughtSignature: 'skip_thought_signature_validator',
            },
            { functionCall: { name: 'get_weather', args: { city: 'Rome' }, id: 'b' } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'get_weather', response: { celsius: 4 }, id: 'a' } },
            { functionResponse: { name: 'get_weather', response: { error: 'no data' }, id: 'b' } },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'get_weather',
              description: 'Current weather',
              parametersJsonSchema: {
                type: 'object',
                properties: { city: { type: 'string' } },
                required: ['city'],
                additionalProperties: false,
              },
            },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
      generationConfig: {
        temperature: 0.2,
        topP: 0.9,
        maxOutputTokens: 500,
        stopSequences: ['END'],
        seed: 7,
        thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' },
      },
    } satisfies GenerateContentBody
    const body = bodyFor('gemini-3-flash', {
      messages: [
        systemMessage('Be brief.'),
        userMessage('Weather in Oslo and Rome?'),
        modelMessage([
          textPart('Let me look.'),
          call('a', 'get_weather', { city: 'Oslo' }),
          call('b', 'get_weather', { city: 'Rome' }),
        ]),
        userMessage([
          result('a', 'get_weather', '{"celsius":4}'),
          result('b', 'get_weather', '{"error":"no data"}', true),
        ]),
      ],
      tools: [
        {
          name: 'get_weather',
          description: 'Current weather',
          inputSchema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      ],
      toolChoice: 'auto',
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 500,
      stopSequences: ['END'],
      seed: 7,
      parallelToolCalls: false,
      thinking: { effort: 'low' },
    })
    expect(body).toEqual(golden)
  })

  it('asks for a native JSON answer', () => {
    const golden = {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } },
      },
    } satisfies GenerateContentBody
    const outputSchema = {
      type: 'object',
      properties: { n: { type: 'integer', exclusiveMinimum: 0 } },
    }
    expect(bodyFor('gemini-3-flash', { messages: hi, outputSchema })).toEqual(golden)
  })

  it('sends no setting that was not given', () => {
    expect(bodyFor('gemini-3-flash', { messages: hi })).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    })
  })

  it('joins provider options with what is there', () => {
    const providerOptions = { safetySettings: [{ category: 'X' }], generationConfig: { topK: 3 } }
    expect(bodyFor('gemini-3-flash', { messages: hi, temperature: 1, providerOptions })).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      safetySettings: [{ category: 'X' }],
      generationConfig: { temperature: 1, topK: 3 },
    })
  })
})

describe('tool choice', () => {
  const tools = [{ name: 'f', description: '', inputSchema: { type: 'object', properties: {} } }]

  it.each<[ToolChoice, NonNullable<GenerateContentBody['toolConfig']>['functionCallingConfig']]>([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ tool: 'f' }, { mode: 'ANY', allowedFunctionNames: ['f'] }],
  ])('says %j in Gemini words', (toolChoice, functionCallingConfig) => {
    const body = bodyFor('gemini-3-flash', { messages: hi, tools, toolChoice })
    expect(body.toolConfig).toEqual({ functionCallingConfig })
  })

  it('declares a tool without a description as such', () => {
    expect(bodyFor('gemini-3-flash', { messages: hi, tools }).tools).toEqual([
      { functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object', properties: {} } }] },
    ] satisfies GenerateContentBody['tools'])
  })

  it('is left out when there are no tools, which Gemini would reject', () => {
    expect(bodyFor('gemini-3-flash', { messages: hi, tools: [], toolChoice: 'required' })).not.toHaveProperty(
      'toolConfig',
    )
  })
})

describe('thinking', () => {
  const thinkingFor = (model: string, thinking: ModelRequest['thinking']) =>
    (
      bodyFor(model, { messages: hi, ...(thinking !== undefined && { thinking }) })
        .generationConfig as JsonObject
    )?.thinkingConfig

  it.each([
    ['gemini-2.5-flash', true, { includeThoughts: true }],
    ['gemini-2.5-flash', false, { thinkingBudget: 0 }],
    ['gemini-2.5-pro', false, { thinkingBudget: 128 }],
    ['gemini-2.5-flash', { budgetTokens: 0 }, { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { budgetTokens: -1 }, { includeThoughts: true, thinkingBudget: -1 }],
    ['gemini-2.5-flash', { budgetTokens: 2000 }, { includeThoughts: true, thinkingBudget: 2000 }],
    ['gemini-2.5-flash', { effort: 'high' }, { includeThoughts: true, thinkingBudget: 24576 }],
    ['gemini-3-flash', true, { includeThoughts: true }],
    ['gemini-3-flash', false, { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.1-pro', false, { thinkingLevel: 'LOW' }],
    ['gemini-3.1-pro', { effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'MEDIUM' }],
    ['gemini-3-pro-preview', { effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'HIGH' }],
    ['gemini-3-flash', { budgetTokens: 5000 }, { includeThoughts: true, thinkingLevel: 'MEDIUM' }],
    ['gemini-3-flash', { budgetTokens: 90_000 }, { includeThoughts: true, thinkingLevel: 'HIGH' }],
    ['gemini-2.0-flash', true, undefined],
    ['gemini-3-flash', undefined, undefined],
  ] as const)('of %s set to %j is asked for as the model understands it', (model, thinking, config) => {
    expect(thinkingFor(model, thinking)).toEqual(config)
  })
})

describe('contents', () => {
  it('keep all results of a round in one content, in call order, apart from anything else', () => {
    expect(
      contentsFor('gemini-2.5-flash', [
        userMessage('go'),
        modelMessage([call('a', 'f'), call('b', 'g')]),
        userMessage([result('b', 'g', 'two')]),
        userMessage([textPart('and hurry'), result('a', 'f', 'one')]),
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'go' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'f', args: {} } }, { functionCall: { name: 'g', args: {} } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { result: 'one' } } },
          { functionResponse: { name: 'g', response: { result: 'two' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'and hurry' }] },
    ])
  })

  it('merge neighbours of the same role and drop what is empty', () => {
    expect(
      contentsFor('gemini-2.5-flash', [
        userMessage('one'),
        modelMessage([]),
        modelMessage(''),
        userMessage([textPart(''), textPart('two')]),
        modelMessage('three'),
        modelMessage('four'),
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'one' }, { text: 'two' }] },
      { role: 'model', parts: [{ text: 'three' }, { text: 'four' }] },
    ])
  })

  it.each([
    ['plain text', false, { result: 'plain text' }],
    ['42', false, { result: '42' }],
    ['[1,2]', false, { result: [1, 2] }],
    ['{broken', false, { result: '{broken' }],
    ['{"a":1}', false, { a: 1 }],
    ['{"error":"x"}', true, { error: 'x' }],
    ['boom', true, { error: 'boom' }],
    ['{"a":1}', true, { error: { a: 1 } }],
  ])('send the result %j (error: %j) as an object', (text, isError, response) => {
    const contents = contentsFor('gemini-2.5-flash', [
      userMessage('go'),
      modelMessage([call('a', 'f')]),
      userMessage([result('a', 'f', text, isError)]),
    ])
    expect(contents).toHaveProperty([2, 'parts', 0, 'functionResponse', 'response'], response)
  })

  it('send a call whose arguments were broken with none, so that its error result explains it', () => {
    const broken: Part = {
      type: 'toolCall',
      id: 'a',
      name: 'f',
      arguments: { x: 1 },
      argumentsRaw: '{"x',
      argumentsError: 'cut',
    }
    expect(contentsFor('gemini-2.5-flash', [userMessage('go'), modelMessage([broken])])).toHaveProperty(
      [1, 'parts', 0],
      { functionCall: { name: 'f', args: {} } },
    )
  })

  it('echo the id the provider knows, and none to models that reject the field', () => {
    const messages = [
      userMessage('go'),
      modelMessage([call('renamed', 'f')], { providerCallIds: { renamed: 'theirs' } }),
      userMessage([result('renamed', 'f', 'x')]),
    ]
    const three = contentsFor('gemini-3-flash', messages)
    expect(three).toHaveProperty([1, 'parts', 0, 'functionCall', 'id'], 'theirs')
    expect(three).toHaveProperty([2, 'parts', 0, 'functionResponse', 'id'], 'theirs')
    expect(JSON.stringify(contentsFor('gemini-2.5-flash', messages))).not.toContain('"id"')
  })

  it('sign the first call of each step that has no signature, and keep it when the turn is over', () => {
    const round = (n: number) => [
      modelMessage([call(`a${n}`, 'f'), call(`b${n}`, 'f')]),
      userMessage([result(`a${n}`, 'f', 'x'), result(`b${n}`, 'f', 'x')]),
    ]
    const turns = [userMessage('before'), ...round(1), ...round(2), modelMessage('done'), userMessage('now')]
    const before = JSON.stringify(contentsFor('gemini-3-flash', turns.slice(0, 5)))
    const after = contentsFor('gemini-3-flash', turns)
    expect(JSON.stringify(after).startsWith(before.slice(0, -1))).toBe(true)
    const signed = JSON.parse(JSON.stringify(after)).map((content: { parts: JsonObject[] }) =>
      content.parts.map((part) => 'thoughtSignature' in part),
    )
    const [none, first] = [
      [false, false],
      [true, false],
    ]
    expect(signed).toEqual([[false], first, none, first, none, [false], [false]])
  })
})

describe('attachments', () => {
  const partsFor = (part: Part, profile?: Partial<GoogleProfile>) =>
    bodyFor('gemini-3-flash', { messages: [userMessage([part])] }, profile).contents

  it.each([
    [dataPart('image/png', 'AAAA'), { inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
    [
      dataPart('application/pdf', 'AAAA', 'a.pdf'),
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
    ],
    [dataPart('audio/mp3', 'AAAA'), { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }],
    [dataPart('video/mp4', 'AAAA'), { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }],
    [dataPart('text/csv', Buffer.from('a;ü')), { text: 'a;ü' }],
    [linkPart('https://youtu.be/x'), { fileData: { fileUri: 'https://youtu.be/x' } }],
    [
      linkPart('https://x.test/a.png', 'image/png'),
      { fileData: { fileUri: 'https://x.test/a.png', mimeType: 'image/png' } },
    ],
  ])('send %j as Gemini takes it', (part, wire) => {
    expect(partsFor(part)).toEqual([
      { role: 'user', parts: [wire] },
    ] satisfies GenerateContentBody['contents'])
  })

  it('the model cannot read are refused with provider, model and type', () => {
    const deaf = { attachments: { images: true, pdf: true, audio: false, links: false } }
    expect(() => partsFor(dataPart('audio/mp3', 'AAAA'), deaf)).toThrow(/google:gemini-3-flash.*audio\/mpeg/)
    expect(() => partsFor(linkPart('https://x.test'), deaf)).toThrow(/google:gemini-3-flash.*link/)
    expect(() => partsFor(dataPart('application/zip', 'AAAA'))).toThrow(/application\/zip/)
  })
})
