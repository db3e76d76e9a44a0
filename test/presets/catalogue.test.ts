import { describe, expect, test } from 'vitest'
import { Agent, ConfigurationError, listProviders } from '../../src/index.ts'

// The providers, under the names, places and keys that users rely on.

const places = {
  openai: ['https://api.openai.com/v1', 'OPENAI_API_KEY'],
  'openai-responses': ['https://api.openai.com/v1', 'OPENAI_API_KEY'],
  'openai-chat': ['https://api.openai.com/v1', 'OPENAI_API_KEY'],
  openrouter: ['https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'],
  groq: ['https://api.groq.com/openai/v1', 'GROQ_API_KEY'],
  together: ['https://api.together.xyz/v1', 'TOGETHER_API_KEY'],
  fireworks: ['https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY'],
  nvidia: ['https://integrate.api.nvidia.com/v1', 'NVIDIA_API_KEY'],
  'ollama-openai': ['http://localhost:11434/v1', undefined],
  anthropic: ['https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'],
  google: ['https://generativelanguage.googleapis.com/v1beta', 'GEMINI_API_KEY'],
  ollama: ['http://localhost:11434/api', undefined],
  mistral: ['https://api.mistral.ai/v1', 'MISTRAL_API_KEY'],
  cohere: ['https://api.cohere.com/v2', 'COHERE_API_KEY'],
  xai: ['https://api.x.ai/v1', 'XAI_API_KEY'],
  deepseek: ['https://api.deepseek.com', 'DEEPSEEK_API_KEY'],
  perplexity: ['https://api.perplexity.ai/v1', 'PERPLEXITY_API_KEY'],
  moonshot: ['https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'],
  zai: ['https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'],
  alibaba: ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'],
  minimax: ['https://api.minimax.io/v1', 'MINIMAX_API_KEY'],
  cerebras: ['https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'],
  huggingface: ['https://router.huggingface.co/v1', 'HF_TOKEN'],
  vercel: ['https://ai-gateway.vercel.sh/v1', 'AI_GATEWAY_API_KEY'],
  cloudflare: ['https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1', 'CLOUDFLARE_API_TOKEN'],
  deepinfra: ['https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'],
  sambanova: ['https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'],
  github: ['https://models.github.ai/inference', 'GITHUB_TOKEN'],
  llamacpp: ['http://localhost:8080/v1', undefined],
  lmstudio: ['http://localhost:1234/v1', undefined],
  vllm: ['http://localhost:8000/v1', undefined],
  'openai-compatible': ['{baseUrl}', undefined],
  azure: ['https://{resource}.openai.azure.com/openai/v1', 'AZURE_OPENAI_API_KEY'],
  'azure-responses': ['https://{resource}.openai.azure.com/openai/v1', 'AZURE_OPENAI_API_KEY'],
  'azure-chat': ['https://{resource}.openai.azure.com/openai/v1', 'AZURE_OPENAI_API_KEY'],
  vertex: [
    'https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}',
    'GOOGLE_API_KEY',
  ],
  bedrock: ['https://bedrock-runtime.{region}.amazonaws.com', 'AWS_BEARER_TOKEN_BEDROCK'],
}

/** Providers of which only their users know the models. */
const withoutDefault = [
  'lmstudio',
  'vllm',
  'llamacpp',
  'openai-compatible',
  'azure',
  'azure-responses',
  'azure-chat',
]

test('all are listed, with their place and the variable of their key', () => {
  const listed = listProviders().map(({ name, baseUrl, keyVariable }) => [name, [baseUrl, keyVariable]])
  expect(Object.fromEntries(listed)).toEqual(places)
})

test('the list is information only: it survives JSON and holds nothing that can be called', () => {
  for (const info of listProviders()) {
    expect({
      keyVariable: undefined,
      defaultEmbeddingsModel: undefined,
      ...JSON.parse(JSON.stringify(info)),
    }).toEqual(info)
  }
})

describe.each(listProviders())('$name', ({ name, defaultModel, defaultEmbeddingsModel, capabilities }) => {
  const hasDefault = !withoutDefault.includes(name)

  if (!hasDefault)
    test('asks for the name of a model', () => {
      expect(defaultModel).toBe('')
      for (const model of [name, `${name}:`, `${name}?chat=`])
        expect(() => new Agent(model)).toThrow(`${name} has no default model: name one`)
    })

  if (hasDefault)
    test('has a default model, used where none is named', () => {
      expect(defaultModel).not.toBe('')
      for (const model of [name, `${name}:`, `${name}?chat=`])
        expect(new Agent(model).model).toMatchObject({ provider: name, model: defaultModel })
    })

  test('takes any model, with its own slashes and colons', () => {
    expect(new Agent(`${name}:vendor/model-1:free`).model.model).toBe('vendor/model-1:free')
    expect(new Agent(`${name}/model-1`).model.model).toBe('model-1')
    expect(new Agent(`${name}?chat=a&embeddings=b`).model.model).toBe('a')
  })

  test('is found in any case', () => {
    expect(new Agent(`${name.toUpperCase()}:m`).model.provider).toBe(name)
  })

  test('lists what it can do', () => {
    expect(capabilities).toContain('chat')
    expect(capabilities).toContain('tools')
    expect(capabilities.includes('listModels')).toBe(!['vertex', 'cloudflare', 'github'].includes(name))
    expect(capabilities.includes('embeddings')).toBe(defaultEmbeddingsModel !== undefined)
    expect(new Set(capabilities).size).toBe(capabilities.length)
  })
})

test('a few make no embeddings', () => {
  const without = listProviders().filter(({ capabilities }) => !capabilities.includes('embeddings'))
  expect(without.map(({ name }) => name)).toEqual([
    'anthropic',
    'xai',
    'perplexity',
    'groq',
    'deepseek',
    'moonshot',
    'zai',
    'alibaba',
    'minimax',
    'cerebras',
    'huggingface',
    'cloudflare',
    'sambanova',
    'github',
    'bedrock',
  ])
})

test.each([
  ['claude', 'anthropic'],
  ['Claude', 'anthropic'],
  ['gemini', 'google'],
  ['GEMINI', 'google'],
  ['grok', 'xai'],
])('%s is another name for %s', (alias, name) => {
  expect(new Agent(`${alias}:some-model`).model).toMatchObject({ provider: name, model: 'some-model' })
})

test('an unknown provider is refused with the names of all that are known', () => {
  const make = () => new Agent('opnai:gpt-5-mini')
  expect(make).toThrow(ConfigurationError)
  expect(make).toThrow(/"opnai"/)
  for (const name of Object.keys(places)) expect(make).toThrow(new RegExp(`\\b${name}\\b`))
})

test.each([
  '',
  '   ',
  ':model',
  '/model',
  'openai//x',
  'a/b/c',
  'openai:a?chat=b',
  'openai?x=1',
  'constructor',
  '__proto__',
])('the model string %j is refused clearly', (model) => {
  expect(() => new Agent(model)).toThrow(ConfigurationError)
})
