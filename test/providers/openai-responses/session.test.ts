import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import {
  isUnknownPreviousResponse,
  withoutPreviousResponse,
} from '../../../providers/openai-responses/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { type ChatMessage, modelMessage, systemMessage, userMessage } from '../../../src/messages/messages.ts'
import {
  bodyOf,
  callItem,
  completed,
  created,
  decode,
  done,
  messageFrom,
  textDelta,
} from './responsesFixtures.ts'

const answer = (id: string, text: string): ChatMessage =>
  messageFrom(decode(created(id), textDelta(0, text), completed({ id })))

const toolTurn = (id: string): ChatMessage =>
  messageFrom(
    decode(
      created(id),
      done(0, callItem('call_a', 'get_weather', '{"city":"Oslo"}')),
      done(1, callItem('call_b', 'get_weather', '{"city":"Rome"}')),
      completed({ id }),
    ),
  )

const results: ChatMessage = userMessage([
  { type: 'toolResult', id: 'call_a', name: 'get_weather', result: '{"celsius":3}' },
  {
    type: 'toolResult',
    id: 'call_b',
    name: 'get_weather',
    result: '{"error":"unknown city"}',
    isError: true,
  },
])

const userItem = (text: string) => ({
  type: 'message' as const,
  role: 'user' as const,
  content: [{ type: 'input_text' as const, text }],
})

describe('a session', () => {
  it('sends after a tool round only the outputs, with the id of the response that asked', () => {
    const messages = [systemMessage('Be brief.'), userMessage('Weather?'), toolTurn('resp_1'), results]
    const golden = {
      model: 'gpt-5-mini',
      instructions: 'Be brief.',
      previous_response_id: 'resp_1',
      input: [
        { type: 'function_call_output', call_id: 'call_a', output: '{"celsius":3}' },
        { type: 'function_call_output', call_id: 'call_b', output: '{"error":"unknown city"}' },
      ],
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    expect(bodyOf({ messages })).toEqual(golden)
  })

  it('continues the newest own response and sends a foreign turn after it as plain items', () => {
    const foreign = modelMessage(
      [
        { type: 'text', text: 'Checking.' },
        { type: 'toolCall', id: 'toolu_1', name: 'get_weather', arguments: { city: 'Oslo' } },
      ],
      { anthropic: { provider: 'anthropic', thinking: ['secret'] }, thinking: 'secret' },
    )
    const messages = [
      userMessage('One'),
      answer('resp_1', 'First.'),
      userMessage('Two'),
      answer('resp_2', 'Second.'),
      userMessage('Three'),
      foreign,
      userMessage([{ type: 'toolResult', id: 'toolu_1', name: 'get_weather', result: 'cold' }]),
      modelMessage('Cold.'),
      userMessage('Four'),
    ]
    const golden = {
      model: 'gpt-5-mini',
      previous_response_id: 'resp_2',
      input: [
        userItem('Three'),
        { type: 'message', role: 'assistant', content: 'Checking.' },
        { type: 'function_call', call_id: 'toolu_1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call_output', call_id: 'toolu_1', output: 'cold' },
        { type: 'message', role: 'assistant', content: 'Cold.' },
        userItem('Four'),
      ],
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    expect(bodyOf({ messages })).toEqual(golden)
  })

  it('never continues a response of another provider that speaks the same protocol', () => {
    const messages = [
      userMessage('One'),
      modelMessage('First.', { 'openai-responses': { provider: 'azure', responseId: 'resp_azure' } }),
      userMessage('Two'),
    ]
    const body = bodyOf({ messages })
    expect(body).not.toHaveProperty('previous_response_id')
    expect(body.input).toHaveLength(3)
  })

  it('continues from before a response that is asked for again', () => {
    const empty = messageFrom(decode(created('resp_2'), completed({ id: 'resp_2' })))
    const body = bodyOf({ messages: [userMessage('Weather?'), toolTurn('resp_1'), results, empty] })
    expect(body.previous_response_id).toBe('resp_1')
    expect(body.input).toMatchObject([{ type: 'function_call_output' }, { type: 'function_call_output' }])
  })

  it('does not continue an answer that was cut', () => {
    const cut = decode(created('resp_2'), textDelta(0, 'Once'), {
      type: 'response.incomplete',
      response: { id: 'resp_2', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
    const messages = [
      userMessage('One'),
      answer('resp_1', 'First.'),
      userMessage('Begin'),
      messageFrom(cut),
      userMessage('Go on'),
    ]
    expect(bodyOf({ messages })).toMatchObject({
      previous_response_id: 'resp_1',
      input: [userItem('Begin'), { role: 'assistant', content: 'Once' }, userItem('Go on')],
    })
  })

  it('sends the whole history when nothing is stored', () => {
    const messages = [userMessage('Weather?'), toolTurn('resp_1'), results]
    const golden = {
      model: 'gpt-5-mini',
      input: [
        userItem('Weather?'),
        { type: 'function_call', call_id: 'call_a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call', call_id: 'call_b', name: 'get_weather', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'call_a', output: '{"celsius":3}' },
        { type: 'function_call_output', call_id: 'call_b', output: '{"error":"unknown city"}' },
      ],
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    } satisfies ResponseCreateParamsStreaming
    expect(bodyOf({ messages, providerOptions: { store: false } })).toEqual(golden)
    expect(bodyOf({ messages }, { stateless: true })).toEqual(golden)
  })

  it('leaves the continuing to a conversation object', () => {
    const messages = [userMessage('One'), answer('resp_1', 'First.'), userMessage('Two')]
    const body = bodyOf({ messages, providerOptions: { conversation: 'conv_1' } })
    expect(body).not.toHaveProperty('previous_response_id')
    expect(body).toMatchObject({ conversation: 'conv_1', input: [userItem('Two')] })
  })

  it('falls back to the whole history without changing the request it was given', () => {
    const request = { messages: [userMessage('Weather?'), toolTurn('resp_1'), results] }
    const before = JSON.stringify(request)
    const whole = withoutPreviousResponse(request)
    const body = bodyOf(whole ?? request)
    expect(body).not.toHaveProperty('previous_response_id')
    expect(body.input).toHaveLength(5)
    expect(JSON.stringify(request)).toBe(before)
    expect(whole && withoutPreviousResponse(whole)).toBe(undefined)
  })

  it('recognises a forgotten response in the words of several servers', () => {
    const error = (status: number | undefined, message: string, code?: string) =>
      isUnknownPreviousResponse({
        name: 'ModelError',
        message,
        ...(status !== undefined && { status }),
        ...(code !== undefined && { code }),
      })
    expect(error(400, "Previous response with id 'resp_1' not found.", 'previous_response_not_found')).toBe(
      true,
    )
    expect(error(404, "Previous response with id 'resp_1' not found.")).toBe(true)
    expect(error(undefined, "Previous response with id 'resp_1' not found.")).toBe(true)
    expect(error(404, "Response with id 'resp_1' not found.")).toBe(true)
    expect(
      error(400, 'Previous response cannot be used for this organization due to Zero Data Retention.'),
    ).toBe(true)
    expect(error(400, 'Unknown parameter: previous_response_id')).toBe(true)
    expect(error(404, 'The model does not exist.', 'model_not_found')).toBe(false)
    expect(error(500, 'Could not load the previous response.')).toBe(false)
  })
})

describe('ids of calls', () => {
  const call = (id: string, metadata?: JsonObject): ChatMessage =>
    modelMessage([{ type: 'toolCall', id, name: 'ping', arguments: {} }], metadata)
  const result = (id: string): ChatMessage =>
    userMessage([{ type: 'toolResult', id, name: 'ping', result: 'pong' }])

  it('are the provider’s own when a result answers a stored call that had to be renamed', () => {
    const metadata = {
      'openai-responses': { provider: 'openai-responses', responseId: 'resp_2' },
      providerCallIds: { 'local-1': 'call_0' },
    }
    const body = bodyOf({ messages: [userMessage('Ping'), call('local-1', metadata), result('local-1')] })
    expect(body.input).toEqual([{ type: 'function_call_output', call_id: 'call_0', output: 'pong' }])
  })

  it('stay distinct in a full history although the provider used one id twice', () => {
    const renamed = { providerCallIds: { 'local-1': 'call_0' } }
    const messages = [call('call_0'), result('call_0'), call('local-1', renamed), result('local-1')]
    const ids = (bodyOf({ messages }).input as JsonObject[]).map((item) => item.call_id)
    expect(ids).toEqual(['call_0', 'call_0', 'local-1', 'local-1'])
  })

  it('are shortened, call and result alike, when the API would refuse their length', () => {
    const id = `call_${'x'.repeat(100)}`
    const [first, second] = (bodyOf({ messages: [call(id), result(id)] }).input as JsonObject[]).map(
      (item) => item.call_id,
    )
    expect(String(first).length).toBeLessThanOrEqual(64)
    expect(second).toBe(first)
  })
})
