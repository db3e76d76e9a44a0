import { expect, it } from 'vitest'
import { ollamaUrl } from '../../providers/ollama/index.ts'
import { chooseModel } from '../../src/cli/chooseModel.ts'
import { loopback } from '../loopback.ts'

const nowhere = { OLLAMA_HOST: '127.0.0.1:1' }

const choice = async (env: Record<string, string>, values: Record<string, string> = {}) => {
  const { said, close } = await chooseModel({ env: { ...nowhere, ...env }, values })
  await close()
  return said
}

const ollama = async (...names: string[]): Promise<string> =>
  (await loopback(() => ({ body: { models: names.map((name) => ({ name })) } }))).url

it('takes what was asked for before everything else', async () => {
  const env = { STATEWIRE_MODEL: 'groq:llama', OPENAI_API_KEY: 'x' }
  expect(await choice(env, { model: 'Claude' })).toBe('anthropic:claude-sonnet-5-5 (--model)')
  expect(await choice(env, { model: 'ollama:qwen3:8b' })).toBe('ollama:qwen3:8b (--model)')
  expect(await choice(env)).toBe('groq:llama (STATEWIRE_MODEL)')
  expect(await choice({}, { model: 'simulator' })).toBe(
    'the built-in simulator, which answers by rules (--model)',
  )
  expect(await choice({}, { 'base-url': 'http://127.0.0.1:1/v1' })).toBe('openai:gpt-6-luna (--base-url)')
})

it('takes the first provider whose key is set, and not only blank', async () => {
  expect(await choice({ OPENAI_API_KEY: ' ', MISTRAL_API_KEY: 'x', COHERE_API_KEY: 'y' })).toBe(
    'mistral:mistral-small-latest (MISTRAL_API_KEY is set)',
  )
})

it('takes a local Ollama that has a model to talk with', async () => {
  const url = await ollama('nomic-embed-text:latest', 'llama3:8b', 'qwen3:8b')
  const chosen = await chooseModel({ env: { OLLAMA_HOST: url }, values: {} }, 20_000)
  expect(chosen).toMatchObject({ model: 'ollama:llama3:8b', options: { baseUrl: `${url}/api` } })
  expect(chosen.said).toBe('ollama:llama3:8b (a local Ollama answers)')
})

it('takes the simulator when nothing else is there', async () => {
  const said = 'the built-in simulator, which answers by rules (no key is set, no Ollama answers)'
  expect(await choice({})).toBe(said)
  expect(await choice({ OLLAMA_HOST: await ollama('nomic-embed-text') })).toBe(said)
})

it('sends the key that is meant for another server there, and nowhere else', async () => {
  const env = { ...nowhere, STATEWIRE_API_KEY: ' gateway-key ', OPENAI_API_KEY: 'x' }
  const values = { model: 'openai:m', 'base-url': 'http://127.0.0.1:1/v1' }
  const chosen = await chooseModel({ env, values })
  expect(chosen.options).toEqual({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'gateway-key' })
  expect((await chooseModel({ env, values: { model: 'openai:m' } })).options).toEqual({})
  expect((await chooseModel({ env, values: {} })).options).toEqual({})
})

it('does not take a provider that needs the name of a model', async () => {
  expect(await choice({ AZURE_OPENAI_API_KEY: 'x' })).toContain('simulator')
})

it('refuses what it does not know', async () => {
  await expect(choice({}, { model: 'nothing:x' })).rejects.toThrow('There is no provider "nothing"')
  await expect(choice({}, { model: 'a?b?c' })).rejects.toThrow('is not a model string')
})

it.each([
  ['127.0.0.1', 'http://127.0.0.1:11434/api'],
  ['0.0.0.0', 'http://127.0.0.1:11434/api'],
  ['box:8080', 'http://box:8080/api'],
  ['http://box:8080/', 'http://box:8080/api'],
  ['https://box', 'https://box/api'],
  ['not a host', 'http://127.0.0.1:11434/api'],
])('finds Ollama where OLLAMA_HOST says: %s', (host, url) => {
  expect(ollamaUrl(host, '/api')).toBe(url)
})
