import { expect, it, onTestFinished, vi } from 'vitest'
import { defineProvider } from '../../providers/defineProvider.ts'
import { registerProvider } from '../../providers/namedProviders.ts'
import { openaiChat } from '../../providers/openai-chat/index.ts'
import { presets } from '../../providers/presets.ts'
import { checkNode, checkProviders } from '../../src/cli/commands/doctor.ts'
import { loopback } from '../loopback.ts'
import { statewire } from './spawned.ts'

const key = 'sk-test-0123456789abcdefghij'

const profile = () => ({
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: false,
  attachments: { images: false, pdf: false, audio: false, links: false },
})

const provider = (name: string, baseUrl: string) =>
  registerProvider(
    name,
    defineProvider({
      name,
      protocol: openaiChat,
      baseUrl,
      keyVariable: `${name.toUpperCase()}_KEY`,
      defaultModel: 'm',
      profile,
      models: { path: '/models' },
    }),
  )

it('shows for each provider if its key is set, its server answers, and the key is accepted', async () => {
  const { url } = await loopback(({ path, headers }) => {
    if (path.startsWith('/bad'))
      return { status: 401, body: { error: { message: `Not ${headers.authorization}` } } }
    return path.startsWith('/odd')
      ? { status: 418, body: {} }
      : { body: { data: [{ id: 'a' }, { id: 'b' }] } }
  })
  for (const name of ['good', 'bad', 'odd', 'keyless']) provider(name, `${url}/${name}`)
  provider('gone', 'http://127.0.0.1:1/v1')
  const env = { GOOD_KEY: key, BAD_KEY: key, ODD_KEY: key, GONE_KEY: key, KEYLESS_KEY: ' ' }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const found = await checkProviders(['good', 'bad', 'odd', 'keyless', 'gone'], env)
  expect(found).toEqual([
    { name: 'good', isUsable: true, key: 'GOOD_KEY is set', server: 'answers, 2 models', hint: '' },
    {
      name: 'bad',
      isUsable: false,
      key: 'BAD_KEY is set',
      server: 'refuses the key (401)',
      hint: 'check BAD_KEY',
    },
    { name: 'odd', isUsable: false, key: 'ODD_KEY is set', server: 'answers with 418', hint: '' },
    {
      name: 'keyless',
      isUsable: false,
      key: 'KEYLESS_KEY is not set',
      server: 'reachable',
      hint: 'set KEYLESS_KEY to use it',
    },
    { name: 'gone', isUsable: false, key: 'GONE_KEY is set', server: 'not reachable', hint: '' },
  ])
})

it('says what a cloud needs before it can be asked', async () => {
  const found = await checkProviders(['azure', 'vertex', 'bedrock', 'openai-compatible'], {})
  expect(found.map(({ name, server, hint }) => [name, server, hint])).toEqual([
    ['azure', 'not known', 'set AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_API_KEY to use it'],
    [
      'vertex',
      'not known',
      'set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION and GOOGLE_API_KEY to use it',
    ],
    ['bedrock', 'not known', 'set AWS_REGION and AWS_BEARER_TOKEN_BEDROCK to use it'],
    ['openai-compatible', 'not known', 'openai-compatible needs to know its server: pass baseUrl.'],
  ])
})

it('doctor ends with 0 when one provider can be used, with 1 when none can', async () => {
  const { url } = await loopback(() => ({ body: { models: [{ name: 'qwen3:8b' }] } }))
  const [here, gone, unknown] = await Promise.all([
    statewire(['doctor', 'ollama'], { env: { OLLAMA_HOST: url } }),
    statewire(['doctor', 'ollama', 'ollama-openai']),
    statewire(['doctor', 'nobody']),
  ])
  expect(here.stdout).toMatch(/✓ {2}node .*\n✓ {2}ollama .*answers, 1 models\n\nReady: ollama\./)
  expect(here.code).toBe(0)
  expect(gone.stdout).toContain('start it: ollama serve')
  expect(gone.stdout).toContain('No provider can be used yet.')
  expect(gone.code).toBe(1)
  expect(unknown.code).toBe(2)
})

it('models lists what a provider has, one per line, or all that is known and the providers with their keys', async () => {
  const { url } = await loopback(() => ({ body: { data: [{ id: 'b' }, { id: 'a' }] } }))
  const [listed, all, keyless] = await Promise.all([
    statewire(['models', 'openai', '--base-url', url]),
    statewire(['models'], { env: { GROQ_API_KEY: key } }),
    statewire(['models', 'openai']),
  ])
  expect(listed).toEqual({ code: 0, stdout: 'a\nb\n', stderr: '' })
  const [known = '', providers = ''] = all.stdout.split('\n\n')
  expect(known).toMatch(/^openai +gpt-6-luna +images pdf +none–max +1,050,000 +128,000 /m)
  expect(known).not.toContain('gpt-3.5-turbo')
  expect(providers.trimEnd().split('\n')).toHaveLength(1 + presets.length)
  expect(providers).toMatch(/^azure +– +AZURE_OPENAI_API_KEY$/m)
  expect(all.stdout).toMatch(/^groq +openai\/gpt-oss-120b +GROQ_API_KEY ✓$/m)
  expect(all.stdout).toMatch(/^cohere .* COHERE_API_KEY$/m)
  expect(all.stdout).not.toContain(key)
  expect(keyless.code).toBe(2)
  expect(keyless.stderr).toContain('OPENAI_API_KEY')
})

it('knows which Node is new enough', () => {
  expect(
    ['18.20.0', '20.18.0', '20.18.1', '20.19.0', '24.0.0'].map((version) => checkNode(version).isGood),
  ).toEqual([false, false, true, true, true])
})
