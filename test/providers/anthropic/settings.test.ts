import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, it } from 'vitest'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { bodyOf, targetFor } from './wire.ts'

const tools = [{ name: 'a', description: '', inputSchema: { type: 'object' } }]
const settingsFor = (model: string, settings: Omit<ModelRequest, 'messages'>) => {
  const {
    model: _,
    messages: __,
    stream: ___,
    ...rest
  } = bodyOf({ messages: [userMessage('hi')], ...settings }, targetFor(model))
  return rest
}

type Settings = Partial<MessageCreateParamsStreaming> & { temperature?: number; top_p?: number }

/** Thinking that is bound to another conversation is dropped, not refused. */
const dropping = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }

describe('thinking', () => {
  it.each<[string, string, Omit<ModelRequest, 'messages'>, Settings]>([
    [
      'gets a budget below the limit',
      'claude-haiku-4-5',
      { thinking: true },
      { max_tokens: 64_000, thinking: { type: 'enabled', budget_tokens: 8192 } },
    ],
    [
      'takes half of a short answer at most',
      'claude-haiku-4-5',
      { thinking: true, maxOutputTokens: 4000 },
      { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
    [
      'makes room for the smallest budget',
      'claude-haiku-4-5',
      { thinking: true, maxOutputTokens: 500 },
      { max_tokens: 1524, thinking: { type: 'enabled', budget_tokens: 1024 } },
    ],
    [
      'adds an explicit budget to the answer where it does not fit in',
      'claude-haiku-4-5',
      { thinking: { budgetTokens: 10_000 }, maxOutputTokens: 4000 },
      { max_tokens: 14_000, thinking: { type: 'enabled', budget_tokens: 10_000 } },
    ],
    [
      'keeps an explicit budget within the limit of the model',
      'claude-opus-4-1',
      { thinking: { budgetTokens: 90_000 } },
      { max_tokens: 32_000, thinking: { type: 'enabled', budget_tokens: 30_976 } },
    ],
    [
      'turns effort into a budget where the model knows only budgets',
      'claude-sonnet-4-5',
      { thinking: { effort: 'low' } },
      { max_tokens: 64_000, thinking: { type: 'enabled', budget_tokens: 1024 } },
    ],
    [
      'sends effort beside the budget on Opus 4.5',
      'claude-opus-4-5',
      { thinking: { effort: 'high' } },
      {
        max_tokens: 64_000,
        thinking: { type: 'enabled', budget_tokens: 24_576 },
        output_config: { effort: 'high' },
      },
    ],
    [
      'is adaptive and visible on newer models',
      'claude-opus-5-5',
      { thinking: { effort: 'minimal', budgetTokens: 5000 } },
      {
        max_tokens: 128_000,
        thinking: { type: 'adaptive', display: 'summarized', ...dropping },
        output_config: { effort: 'low' },
      },
    ],
    ['is left alone when nothing is said', 'claude-sonnet-5', {}, { max_tokens: 128_000 }],
    ['is off by leaving it out', 'claude-opus-4-8', { thinking: false }, { max_tokens: 128_000 }],
    [
      'is switched off where it is on by default',
      'claude-sonnet-5',
      { thinking: false },
      { max_tokens: 128_000, thinking: { type: 'disabled' } },
    ],
    [
      'is held back in the way Sonnet 5.5 wants it',
      'claude-sonnet-5-5',
      { thinking: false },
      { max_tokens: 128_000, thinking: { type: 'between_tools' } },
    ],
    [
      'cannot be switched off on Opus 5.5, which is asked for little of it',
      'claude-opus-5-5',
      { thinking: false },
      { max_tokens: 128_000, output_config: { effort: 'low' } },
    ],
    [
      'takes a budget for the nearest effort on models that take no budget',
      'claude-sonnet-5-5',
      { thinking: { budgetTokens: 30_000 } },
      {
        max_tokens: 128_000,
        thinking: { type: 'adaptive', display: 'summarized', ...dropping },
        output_config: { effort: 'xhigh' },
      },
    ],
    [
      'is not held back by a choice among no tools',
      'claude-haiku-4-5',
      { thinking: true, toolChoice: 'required', tools: [] },
      { max_tokens: 64_000, thinking: { type: 'enabled', budget_tokens: 8192 } },
    ],
    [
      'is not asked of a model that cannot',
      'claude-3-5-haiku-latest',
      { thinking: true },
      { max_tokens: 8192 },
    ],
  ])('%s', (_, model, settings, expected) => {
    expect(settingsFor(model, settings)).toEqual(expected)
  })

  it('is not switched on midway through a tool round that began without it', () => {
    const round = [
      modelMessage([{ type: 'toolCall', id: 'x', name: 'a', arguments: {} }]),
      userMessage([{ type: 'toolResult', id: 'x', name: 'a', result: 'ok' }]),
    ]
    const request = { messages: [userMessage('hi'), ...round], thinking: true, temperature: 0.5 }
    const body = bodyOf(request, targetFor('claude-sonnet-4-5'))
    expect(body).not.toHaveProperty('thinking')
    expect(body).toHaveProperty('temperature', 0.5)
    const next = [...request.messages, modelMessage('done'), userMessage('again')]
    expect(bodyOf({ ...request, messages: next }, targetFor('claude-sonnet-4-5'))).toHaveProperty('thinking')
  })
})

describe('sampling', () => {
  it.each<[string, string, Omit<ModelRequest, 'messages'>, Settings]>([
    ['sends both settings to old models', 'claude-3-7-sonnet-20250219', {}, { temperature: 0.3, top_p: 0.9 }],
    ['prefers the temperature where only one is taken', 'claude-sonnet-4-5', {}, { temperature: 0.3 }],
    ['sends none to models that reject them', 'claude-opus-4-7', {}, {}],
    ['sends none that thinking forbids', 'claude-sonnet-4-5', { thinking: true }, {}],
    [
      'keeps a top_p that thinking allows',
      'claude-sonnet-4-5',
      { thinking: true, topP: 0.95 },
      { top_p: 0.95 },
    ],
  ])('%s', (_, model, settings, expected) => {
    const body = settingsFor(model, { temperature: 0.3, topP: 0.9, ...settings })
    const { temperature, top_p } = body
    expect({
      ...(temperature !== undefined && { temperature }),
      ...(top_p !== undefined && { top_p }),
    }).toEqual(expected)
  })
})

describe('tool choice', () => {
  it.each<[string, Omit<ModelRequest, 'messages'>, MessageCreateParamsStreaming['tool_choice']]>([
    ['leaves the default out', { tools }, undefined],
    ['auto', { tools, toolChoice: 'auto' }, { type: 'auto' }],
    ['none', { tools, toolChoice: 'none', parallelToolCalls: false }, { type: 'none' }],
    ['required', { tools, toolChoice: 'required' }, { type: 'any' }],
    [
      'one tool, once',
      { tools, toolChoice: { tool: 'a' }, parallelToolCalls: false },
      { type: 'tool', name: 'a', disable_parallel_tool_use: true },
    ],
    ['is left out without tools', { toolChoice: 'required', parallelToolCalls: false }, undefined],
  ])('%s', (_, settings, expected) => {
    expect(settingsFor('claude-sonnet-4-5', settings).tool_choice).toEqual(expected)
  })

  it('goes before thinking when it forces a tool, for the two exclude each other', () => {
    const settings = { tools, toolChoice: 'required', thinking: true } as const
    const old = settingsFor('claude-sonnet-4-5', settings)
    expect(old).toHaveProperty('tool_choice', { type: 'any' })
    expect(old).not.toHaveProperty('thinking')
    const thinkingByDefault = settingsFor('claude-opus-5', settings)
    expect(thinkingByDefault).toMatchObject({ tool_choice: { type: 'any' }, thinking: { type: 'disabled' } })
  })

  it('is only a hint for models that cannot be forced', () => {
    const settings = settingsFor('claude-opus-5-5', { tools, toolChoice: { tool: 'a' }, thinking: true })
    expect(settings).toMatchObject({ tool_choice: { type: 'auto' }, thinking: { type: 'adaptive' } })
  })
})

describe('tool schemas', () => {
  const schemaFor = (inputSchema: ModelRequest['outputSchema'] & object) =>
    settingsFor('claude-sonnet-4-5', { tools: [{ name: 'a', description: '', inputSchema }] }).tools

  it('are objects even when nothing says so, and carry no dialect mark', () => {
    expect(schemaFor({ $schema: 'https://json-schema.org/draft/2020-12/schema' })).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: {} } },
    ])
  })

  it('are flattened where the root holds alternatives, which the API rejects', () => {
    const text = { type: 'string' }
    expect(
      schemaFor({
        anyOf: [
          { type: 'object', properties: { kind: { const: 'a' }, id: text }, required: ['kind', 'id'] },
          {
            type: 'object',
            properties: { kind: { const: 'b' }, id: text, n: text },
            required: ['kind', 'id', 'n'],
          },
        ],
      }),
    ).toEqual([
      {
        name: 'a',
        input_schema: {
          type: 'object',
          description: '(one of: { kind: "a", id } or { kind: "b", id, n })',
          properties: { kind: { type: 'string', enum: ['a', 'b'] }, id: text, n: text },
          required: ['kind', 'id'],
        },
      },
    ])
  })

  it('keep everything an intersection asks for', () => {
    expect(
      schemaFor({
        allOf: [
          { type: 'object', properties: { x: {} }, required: ['x'] },
          { type: 'object', properties: { y: {} }, required: ['y'] },
        ],
      }),
    ).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: { x: {}, y: {} }, required: ['x', 'y'] } },
    ])
  })
})
