/** The attributes as backends read them: the names are those of the conventions, and Phoenix's own converter reads them. */
import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as toOpenInference } from '@arizeai/openinference-genai'
import * as official from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import * as conventions from '../../src/telemetry/conventions.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

const known = new Set<unknown>(Object.values(official))

test('every name but our own is one of the conventions', () => {
  const { attribute, content, settingNames, usageNames, metric } = conventions
  const used = [attribute, content, settingNames, usageNames].flatMap((table) => Object.values<string>(table))
  const names = [...used, ...Object.values(metric).map(({ name }) => name)]
  expect(names.filter((name) => !known.has(name))).toEqual([])
  expect(Object.values(conventions.own).filter((name) => !name.startsWith('statewire.'))).toEqual([])
})

test.each([
  'openai',
  'openai-responses',
  'azure',
  'anthropic',
  'google',
  'vertex',
  'bedrock',
  'mistral',
  'cohere',
  'groq',
  'xai',
  'deepseek',
])('%s has a name in the conventions', (provider) => {
  expect(known).toContain(conventions.providerName(provider))
})

test('Phoenix sees an agent, requests and a tool, with messages, calls and counts', async () => {
  const observed = observe()
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather',
    input: z.object({ city: z.string() }),
    execute: () => ({ celsius: 21 }),
  })
  const model = scriptedModel(
    [
      [{ toolCall: { id: 'c1', name: 'get_weather', arguments: { city: 'Oslo' } } }],
      [{ text: '21 °C.' }, { usage: { inputTokens: 12, outputTokens: 5, cachedInputTokens: 8 } }],
    ],
    { provider: 'openai', model: 'gpt-6-luna' },
  )
  const agent = new Agent(model, {
    name: 'weather',
    system: 'Be brief.',
    tools: [weather],
    temperature: 0,
    inspect: telemetry({ captureContent: true, attributes: { 'session.id': 's1' } }),
  })
  await agent.send('Weather in Oslo?')
  const [first, call, second, run] = observed.spans.map(({ attributes }) => toOpenInference(attributes) ?? {})
  expect(first).toMatchObject({
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'gpt-6-luna',
    'llm.provider': 'openai',
    'llm.input_messages.0.message.role': 'system',
    'llm.input_messages.1.message.role': 'user',
    'llm.input_messages.1.message.contents.0.message_content.text': 'Weather in Oslo?',
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'get_weather',
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"city":"Oslo"}',
    'llm.tools.0.tool.json_schema': expect.stringContaining('get_weather'),
  })
  expect(second).toMatchObject({
    'llm.token_count.prompt': 12,
    'llm.token_count.completion': 5,
    'llm.token_count.prompt_details.cache_read': 8,
    'llm.input_messages.3.message.role': 'tool',
    'llm.input_messages.3.message.content': '{"celsius":21}',
    'llm.output_messages.0.message.contents.0.message_content.text': '21 °C.',
  })
  expect(call).toMatchObject({
    'openinference.span.kind': 'TOOL',
    'tool.name': 'get_weather',
    'input.value': '{"city":"Oslo"}',
    'output.value': '{"celsius":21}',
  })
  expect(run).toMatchObject({ 'openinference.span.kind': 'AGENT', 'agent.name': 'weather' })
  expect(run?.['input.value']).toContain('Weather in Oslo?')
  expect(Object.keys(run ?? {}).filter((name) => name.startsWith('llm.token_count'))).toEqual([])
  for (const { attributes } of observed.spans) expect(attributes['session.id']).toBe('s1')
})
