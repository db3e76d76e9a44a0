/** The SDK of OpenAI asks for answers of a shape, and continues conversations by the id of a response. */
import OpenAI from 'openai'
import OpenAI6 from 'openai6'
import { describe, expect, test } from 'vitest'
import { Agent } from '../../../src/agent/Agent.ts'
import { type ChatMessage, textOf, toolResultsOf } from '../../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { tool } from '../../../src/tools/tool.ts'
import { type OpenaiHandlerOptions, openaiHandler } from '../../../src/ui/openai/handler.ts'
import { serve } from '../serve.ts'

const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
const served = async (turns: ScriptTurn[], options: OpenaiHandlerOptions = {}, profile = {}) => {
  const model = scriptedModel(turns, { profile })
  const url = await serve(openaiHandler({ it: new Agent(model, { tools: [look] }) }, options))
  const settings = { baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 }
  return { model, client: new OpenAI(settings), old: new OpenAI6(settings) }
}
const city = {
  type: 'object',
  properties: { name: { type: 'string', pattern: '^(a+)+$' }, degrees: { type: 'integer' } },
  required: ['name', 'degrees'],
  additionalProperties: false,
}
const chatFormat = { type: 'json_schema', json_schema: { name: 'city', schema: city, strict: true } } as const
const responsesFormat = { format: { type: 'json_schema', name: 'city', schema: city, strict: true } } as const
const messages = [{ role: 'user', content: 'Rome?' }] as const
const rome = { name: 'Rome', degrees: 21 }

describe('an answer of a shape', () => {
  const turns: ScriptTurn[] = [
    [{ toolCall: { id: 'c1', name: 'look' } }],
    [{ text: '{"name":"Rome",' }, { text: '"degrees":21}' }],
  ]

  test('is a chat completion, whole and streamed, for both SDKs', async () => {
    for (const pick of ['client', 'old'] as const) {
      const made = await served([...turns, ...turns])
      const client = made[pick]
      const whole = await client.chat.completions.parse({
        model: 'it',
        messages: [...messages],
        response_format: chatFormat,
      })
      expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toEqual(rome)
      const stream = client.chat.completions.stream({
        model: 'it',
        messages: [...messages],
        response_format: chatFormat,
      })
      expect(JSON.parse((await stream.finalContent()) ?? '')).toEqual(rome)
    }
  })

  test('is a response, whole and streamed', async () => {
    const { client } = await served([...turns, ...turns])
    const whole = await client.responses.parse({ model: 'it', input: 'Rome?', text: responsesFormat })
    expect(JSON.parse(whole.output_text)).toEqual(rome)
    const stream = client.responses.stream({ model: 'it', input: 'Rome?', text: responsesFormat })
    expect(JSON.parse((await stream.finalResponse()).output_text)).toEqual(rome)
  })

  test('comes from a model that has no schemas of its own, too', async () => {
    const returned: ScriptTurn = [{ toolCall: { id: 'c1', name: 'return_result', arguments: rome } }]
    const { client } = await served([returned], {}, { nativeSchema: false })
    const whole = await client.chat.completions.create({
      model: 'it',
      messages: [...messages],
      response_format: chatFormat,
    })
    expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toEqual(rome)
    expect(whole.choices[0]?.finish_reason).toBe('stop')
  })

  test('is asked for again once, and is an error if it does not fit', async () => {
    const { client, model } = await served(['{"name":7}', '{"name":8}'], { onError: () => {} })
    await expect(
      client.chat.completions.create({ model: 'it', messages: [...messages], response_format: chatFormat }),
    ).rejects.toMatchObject({ status: 500 })
    model.assertDone()
  })

  test('may be any object, or text; other formats and large schemas are refused', async () => {
    const { client } = await served(['{"a":1}', 'Plain.'])
    const ask = (format: object) =>
      client.chat.completions.create({
        model: 'it',
        messages: [...messages],
        response_format: format as never,
      })
    const { choices } = await ask({ type: 'json_object' })
    expect(choices[0]?.message.content).toBe('{"a":1}')
    expect((await ask({ type: 'text' })).choices[0]?.message.content).toBe('Plain.')
    for (const format of [
      { type: 'grammar' },
      { type: 'json_schema' },
      { type: 'json_schema', json_schema: { schema: { description: 'x'.repeat(65_000) } } },
    ])
      await expect(ask(format)).rejects.toMatchObject({ status: 400 })
  })
})

describe('previous_response_id', () => {
  test('continues a conversation, branches from any response, and does not keep instructions', async () => {
    const store = new Map<string, ChatMessage[]>()
    const { client, model } = await served(['One.', 'Two.', 'Other.'], { store })
    const first = await client.responses.create({ model: 'it', input: 'First', instructions: 'Be brief.' })
    const second = await client.responses.create({
      model: 'it',
      input: 'Second',
      previous_response_id: first.id,
    })
    expect(second.previous_response_id).toBe(first.id)
    const stream = client.responses.stream({ model: 'it', input: 'Third', previous_response_id: first.id })
    const { id } = await stream.finalResponse()
    expect(model.requests.map(({ messages: sent }) => sent.map(textOf))).toEqual([
      ['Be brief.', 'First'],
      ['First', 'One.', 'Second'],
      ['First', 'One.', 'Third'],
    ])
    expect(store.get(id)?.map(textOf)).toEqual(['First', 'One.', 'Third', 'Other.'])
  })

  test('continues after the calls of a client', async () => {
    const store = new Map<string, ChatMessage[]>()
    const call: ScriptTurn = [{ toolCall: { id: 'c1', name: 'get_place', arguments: { of: 'me' } } }]
    const { client, model } = await served([call, 'In Oslo.'], { store })
    const tools = [
      {
        type: 'function',
        name: 'get_place',
        description: 'Place',
        parameters: { type: 'object' },
        strict: false,
      },
    ] as const
    const first = await client.responses.create({ model: 'it', input: 'Where am I?', tools: [...tools] })
    const output = [{ type: 'function_call_output', call_id: 'c1', output: 'Oslo' }] as const
    const second = await client.responses.create({
      model: 'it',
      input: [...output],
      tools: [...tools],
      previous_response_id: first.id,
    })
    expect(second.output_text).toBe('In Oslo.')
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'c1', name: 'get_place', result: 'Oslo' },
    ])
  })

  test('of a response that is not kept is refused', async () => {
    const { client } = await served(['One.'], { store: new Map<string, ChatMessage[]>() })
    const first = await client.responses.create({ model: 'it', input: 'First', store: false })
    const ask = (asked: OpenAI) =>
      asked.responses.create({ model: 'it', input: 'x', previous_response_id: first.id })
    await expect(ask(client)).rejects.toMatchObject({ status: 404, code: 'previous_response_not_found' })
    await expect(ask((await served([])).client)).rejects.toMatchObject({ status: 400 })
  })
})
