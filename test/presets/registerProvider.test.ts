import { expect, test } from 'vitest'
import { defineProvider, openaiChat } from '../../providers/index.ts'
import { presets } from '../../providers/presets.ts'
import {
  Agent,
  type ChatModel,
  ConfigurationError,
  listModels,
  listProviders,
  type ModelProfile,
  registerProvider,
} from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

// Your own providers come beside the built-in ones, or in place of one of them.

const profile: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: false,
  schemaWithTools: false,
  thinking: false,
  attachments: { images: false, pdf: false, audio: false, links: false },
}

/** A model without a wire: it says its own name. */
const parrot = (model = 'small', provider = 'parrot'): ChatModel => ({
  provider,
  model,
  profile,
  stream(_, sink) {
    queueMicrotask(() => {
      sink.deltas([
        { type: 'text', text: `I am ${model}.` },
        { type: 'finish', reason: 'stop' },
      ])
      sink.end()
    })
    return () => {}
  },
})

test('a function that makes models is all a provider needs', async () => {
  registerProvider('Parrot', (model) => parrot(model))
  expect((await new Agent('parrot').send('Who are you?')).output).toBe('I am small.')
  expect((await new Agent('PARROT:grey:v2').send('Who are you?')).output).toBe('I am grey:v2.')
  expect(listProviders()).toContainEqual(expect.objectContaining({ name: 'Parrot', capabilities: ['chat'] }))
  await expect(new Agent('parrot').embedQuery('text')).rejects.toThrow(/does not make embeddings/)
  await expect(listModels('parrot')).rejects.toThrow(ConfigurationError)
})

test('the function gets the options of the agent', () => {
  let seen: object = {}
  registerProvider('curious', (model, options) => {
    seen = options
    return parrot(model, 'curious')
  })
  new Agent('curious', { apiKey: 'k', baseUrl: 'http://x', headers: { a: 'b' } })
  expect(seen).toMatchObject({ apiKey: 'k', baseUrl: 'http://x', headers: { a: 'b' } })
})

const deepseek = () =>
  defineProvider({
    name: 'deepseek',
    aliases: ['deep'],
    protocol: openaiChat,
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-chat',
    profile: () => ({ ...profile, maxTokensField: 'max_tokens' as const }),
    models: { path: '/models' },
  })

test('a provider that speaks a known protocol is a place, a key and a profile', async () => {
  registerProvider('deepseek', deepseek())
  const { url, requests } = await loopback(({ method }) => ({
    body: method === 'GET' ? { data: [{ id: 'deepseek-chat' }] } : helloFrom('deepseek'),
  }))
  const agent = new Agent('deep:deepseek-reasoner', { baseUrl: url, apiKey: 'k', maxOutputTokens: 5 })
  expect((await agent.send('hi')).output).toBe('hello')
  expect(requests[0]).toMatchObject({
    path: '/chat/completions',
    body: { model: 'deepseek-reasoner', max_tokens: 5 },
    headers: { authorization: 'Bearer k' },
  })
  expect(await listModels('deepseek', { baseUrl: url })).toEqual([
    { id: 'deepseek-chat', details: { id: 'deepseek-chat' } },
  ])
  await expect(new Agent('deepseek').send('hi')).rejects.toThrow(/DEEPSEEK_API_KEY/)
  expect(() => new Agent('missing')).toThrow(/deepseek/)
})

test('a provider registered under another name is known by that name', () => {
  registerProvider('my-deepseek', deepseek())
  expect(listProviders().map(({ name }) => name)).toContain('my-deepseek')
  expect(new Agent('my-deepseek').model.model).toBe('deepseek-chat')
})

test('one of the presets can be replaced', async () => {
  registerProvider('groq', (model) => parrot(model, 'groq'))
  expect((await new Agent('groq').send('Who are you?')).output).toBe('I am small.')
  expect(listProviders().filter(({ name }) => name === 'groq')).toHaveLength(1)
  expect(presets.filter(({ name }) => name === 'groq')).toHaveLength(1)
})

test.each(['', 'two words', 'a:b', 'a/b', 'a?b'])('%j cannot be the name of a provider', (name) => {
  expect(() => registerProvider(name, (model) => parrot(model))).toThrow(ConfigurationError)
})
