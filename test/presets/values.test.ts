/** A provider as a value is the provider of its name, without the registry: the same models, the same key, the same rules. */
import { readdirSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ProviderValue } from '../../providers/chatModels.ts'
import { findProvider, registerProvider } from '../../providers/namedProviders.ts'
import { anthropic } from '../../providers/values/anthropic.ts'
import { compatible, hosted } from '../../providers/values/compatible.ts'
import { openai } from '../../providers/values/openai.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'

afterEach(() => vi.unstubAllEnvs())

const names = readdirSync('providers/values').map((file) => file.replace('.ts', ''))
const own = names.filter((name) => name !== 'compatible')

const importedValue = async (name: string): Promise<ProviderValue> => {
  const { [name]: value } = await import(`../../providers/values/${name}.ts`)
  return value
}

/** A `fetch` that answers nothing, and keeps what it was asked. */
const asked = () => {
  const requests: { url: string; headers: Headers }[] = []
  const send: typeof fetch = async (input, init) => {
    requests.push({ url: String(input), headers: new Headers(init?.headers) })
    return new Response('{"error":{"message":"no"}}', { status: 400 })
  }
  return { requests, send }
}

describe.each(own)('%s', (name) => {
  const models = ['gpt-6-luna', 'gpt-4.1', 'claude-sonnet-5-5', 'gemini-3.8-flash', 'grok-4.7', 'some-model']

  it.each(models)('makes the same model as its name does: %s', async (model) => {
    const value = await importedValue(name)
    const { stream: _, redact: __, ...facts } = value(model)
    expect(facts.provider).toBe(name)
    expect(facts).toEqual(expect.objectContaining({ model, protocol: expect.any(String) }))
    const { stream: ___, redact: ____, ...inRegistry } = findProvider(name).chatModel(model, {})
    expect(facts).toEqual(inRegistry)
  })

  it('has the same default model', async () => {
    const value = await importedValue(name)
    const { defaultModel } = findProvider(name)
    if (defaultModel === '') expect(() => value()).toThrow('has no default model')
    else expect(value().model).toBe(defaultModel)
  })
})

describe('the hosts of chat completions', () => {
  it.each(['groq', 'openrouter', 'vllm', 'qwen'])('have a value by their name: %s', (name) => {
    const { stream: _, redact: __, ...facts } = hosted(name, 'openai/gpt-oss-120b')
    const {
      stream: ___,
      redact: ____,
      ...inRegistry
    } = findProvider(name).chatModel('openai/gpt-oss-120b', {})
    expect(facts).toEqual(inRegistry)
  })

  it('are suggested for a name that is misspelled', () => {
    expect(() => hosted('gorq')).toThrow(
      /There is no host "gorq"\. Did you mean "groq"\? Known hosts: openrouter, /,
    )
  })

  it('are known by their address', () => {
    const baseUrl = 'https://api.groq.com/openai/v1'
    expect(compatible('openai/gpt-oss-120b', { baseUrl }).profile).toMatchObject({ nativeSchema: false })
  })
})

describe('an agent of a value', () => {
  it('gives it the key, the address and the way to the network', async () => {
    const { requests, send } = asked()
    const agent = new Agent(openai('gpt-4.1'), {
      apiKey: 'key-of-agent',
      baseUrl: 'https://proxy.example/v1',
      headers: { 'x-team': 'blue' },
      connection: { fetch: send },
    })
    await expect(agent.send('hi')).rejects.toThrow('no')
    expect(requests).toHaveLength(1)
    expect(requests[0]?.url).toBe('https://proxy.example/v1/chat/completions')
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer key-of-agent')
    expect(requests[0]?.headers.get('x-team')).toBe('blue')
  })

  it('leaves what the value was given itself', async () => {
    const [first, second] = [asked(), asked()]
    const model = anthropic('claude-sonnet-5-5', { apiKey: 'own', connection: { fetch: first.send } })
    const agent = new Agent(model, { apiKey: 'key-of-agent', connection: { fetch: second.send } })
    await expect(agent.send('hi')).rejects.toThrow('no')
    expect(first.requests[0]?.headers.get('x-api-key')).toBe('own')
    expect(second.requests).toEqual([])
  })

  it('shares its way to the network with a fallback, and keeps its key', async () => {
    const { requests, send } = asked()
    vi.stubEnv('ANTHROPIC_API_KEY', 'key-of-environment')
    const down: typeof fetch = async (input, init) =>
      String(input).includes('openai') ? new Response('', { status: 503 }) : send(input, init)
    const agent = new Agent(openai('gpt-4.1'), {
      apiKey: 'key-of-agent',
      connection: { fetch: down },
      fallback: [anthropic('claude-sonnet-5-5')],
      retry: { maxRetries: 0 },
    })
    await expect(agent.send('hi')).rejects.toThrow('no')
    expect(requests.map(({ url }) => url)).toEqual(['https://api.anthropic.com/v1/messages'])
    expect(requests[0]?.headers.get('x-api-key')).toBe('key-of-environment')
  })

  it('is the model itself where there is nothing to add', () => {
    const model = openai('gpt-4.1')
    expect(new Agent(model).model).toBe(model)
  })

  it('says how to get embeddings', async () => {
    const agent = new Agent(openai('gpt-4.1'))
    await expect(agent.embedQuery('text')).rejects.toThrow(/name it by a string/)
  })
})

describe('the options of a value', () => {
  const refused: [option: string, value: unknown, problem: string][] = [
    ['apiKey', 5, 'apiKey must be a string'],
    ['baseUrl', 'localhost', 'baseUrl must be an absolute http or https URL'],
    ['headers', 5, 'headers must be'],
    ['connection', { fetsh: fetch }, 'Did you mean fetch?'],
    ['profile', { tools: 'yes' }, 'profile.tools must be true or false'],
    ['temperature', 1, 'The options of openai cannot have "temperature"'],
  ]

  it.each(refused)('refuse %s with a value that it cannot take', (option, value, problem) => {
    const make = () => openai('gpt-4.1', { [option]: value })
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(problem)
  })
})

it('a value can be registered, so that strings name it', () => {
  registerProvider('our-openai', openai)
  const { provider, model } = new Agent('our-openai:gpt-4.1', { apiKey: 'key', tools: [] }).model
  expect({ provider, model }).toEqual({ provider: 'openai', model: 'gpt-4.1' })
})
