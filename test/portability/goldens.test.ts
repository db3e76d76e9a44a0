import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import type { Content } from '@google/genai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { wireItems } from '../recordings/wireItems.ts'
import { agentProtocol, historyFrom, takeOver } from './providerHost.ts'
import { sources } from './sources.ts'

// Whole conversations as the next provider gets them. Ids are counted in the order they come, because ours are random.

const bodyFor = async (from: string, target: string): Promise<JsonObject> => {
  const source = sources.find(({ protocol }) => protocol === from)
  if (!source) throw new Error(`There is no source ${from}.`)
  const { body } = await takeOver(target, await historyFrom(source))
  const calls = wireItems(agentProtocol(target), body).filter((item) => item.kind === 'call')
  const ids = [...new Set(calls.map(({ id }) => id))].filter((id) => id !== '')
  let text = JSON.stringify(body)
  ids.forEach((id, nth) => {
    text = text.replaceAll(JSON.stringify(id), `"id-${nth + 1}"`)
  })
  return JSON.parse(text)
}

const question = 'How is the weather in Oslo and Rome?'
const oslo = '{"city":"Oslo","celsius":21}'
const rome = '{"city":"Rome","celsius":21}'

test('google to anthropic', async () => {
  const marker = { type: 'ephemeral' } as const
  const golden = [
    { role: 'user', content: [{ type: 'text', text: question }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'id-1', name: 'get_weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'id-2', name: 'get_weather', input: { city: 'Rome' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'id-1', content: oslo },
        { type: 'tool_result', tool_use_id: 'id-2', content: rome },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'id-3', name: 'get_weather', input: { city: 'Oslo' } }],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'id-3', content: oslo, cache_control: marker }],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Warm in both.' }] },
    { role: 'user', content: [{ type: 'text', text: 'And tomorrow?', cache_control: marker }] },
  ] satisfies MessageParam[]
  expect((await bodyFor('google', 'anthropic')).messages).toEqual(golden)
})

test('ollama to openai-chat', async () => {
  const call = (id: string, city: string) => ({
    id,
    type: 'function' as const,
    function: { name: 'get_weather', arguments: JSON.stringify({ city }) },
  })
  const golden = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: question },
    { role: 'assistant', content: 'Let me look.', tool_calls: [call('id-1', 'Oslo'), call('id-2', 'Rome')] },
    { role: 'tool', tool_call_id: 'id-1', content: oslo },
    { role: 'tool', tool_call_id: 'id-2', content: rome },
    { role: 'assistant', content: null, tool_calls: [call('id-3', 'Oslo')] },
    { role: 'tool', tool_call_id: 'id-3', content: oslo },
    { role: 'assistant', content: 'Warm in both.' },
    { role: 'user', content: 'And tomorrow?' },
  ] satisfies ChatCompletionMessageParam[]
  expect((await bodyFor('ollama', 'openai-chat')).messages).toEqual(golden)
})

test('anthropic to openai-responses, where no two calls may share an id', async () => {
  const call = (call_id: string, city: string) => ({
    type: 'function_call' as const,
    call_id,
    name: 'get_weather',
    arguments: JSON.stringify({ city }),
  })
  const golden = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: question }] },
    { type: 'message', role: 'assistant', content: 'Let me look.' },
    call('id-1', 'Oslo'),
    call('id-2', 'Rome'),
    { type: 'function_call_output', call_id: 'id-1', output: oslo },
    { type: 'function_call_output', call_id: 'id-2', output: rome },
    call('id-3', 'Oslo'),
    { type: 'function_call_output', call_id: 'id-3', output: oslo },
    { type: 'message', role: 'assistant', content: 'Warm in both.' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And tomorrow?' }] },
  ] satisfies ResponseInputItem[]
  expect((await bodyFor('anthropic', 'openai-responses')).input).toEqual(golden)
})

test('openai-responses to Gemini 2, which takes no ids', async () => {
  const call = (city: string) => ({ functionCall: { name: 'get_weather', args: { city } } })
  const response = (city: string) => ({
    functionResponse: { name: 'get_weather', response: { city, celsius: 21 } },
  })
  const golden = [
    { role: 'user', parts: [{ text: question }] },
    { role: 'model', parts: [{ text: 'Let me look.' }, call('Oslo'), call('Rome')] },
    { role: 'user', parts: [response('Oslo'), response('Rome')] },
    { role: 'model', parts: [call('Oslo')] },
    { role: 'user', parts: [response('Oslo')] },
    { role: 'model', parts: [{ text: 'Warm in both.' }] },
    { role: 'user', parts: [{ text: 'And tomorrow?' }] },
  ] satisfies Content[]
  expect((await bodyFor('openai-responses', 'google:gemini-2.5-flash')).contents).toEqual(golden)
})
