import { beforeAll, expect, test } from 'vitest'
import type { Provider } from '../../providers/index.ts'
import {
  anthropic,
  anthropicProfile,
  cohere,
  defineProvider,
  geminiProfile,
  google,
  mistral,
  ollama,
  openaiChat,
  openaiResponses,
} from '../../providers/index.ts'
import { type ModelProfile, registerProvider } from '../../src/index.ts'
import { historyFrom, takeOver } from './providerHost.ts'
import { thought } from './source.ts'
import { sources } from './sources.ts'
import { expectAcceptable } from './wireRules.ts'

// Seals are bound to the provider that made them: another host of the same protocol could not open them.

const can: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
}
const place = (name: string) => ({ name, baseUrl: 'https://other.example/v1', defaultModel: 'some-model' })

const others: [protocol: string, Provider][] = [
  [
    'openai-chat',
    defineProvider({
      ...place('other-openai-chat'),
      protocol: openaiChat,
      profile: () => ({ ...can, reasoningReplay: 'reasoning_details' as const }),
    }),
  ],
  [
    'openai-responses',
    defineProvider({ ...place('other-openai-responses'), protocol: openaiResponses, profile: () => can }),
  ],
  [
    'anthropic',
    defineProvider({ ...place('other-anthropic'), protocol: anthropic, profile: anthropicProfile }),
  ],
  ['google', defineProvider({ ...place('other-google'), protocol: google, profile: geminiProfile })],
  ['ollama', defineProvider({ ...place('other-ollama'), protocol: ollama, profile: () => can })],
  ['mistral', defineProvider({ ...place('other-mistral'), protocol: mistral, profile: () => can })],
  ['cohere', defineProvider({ ...place('other-cohere'), protocol: cohere, profile: () => can })],
]

beforeAll(() => {
  for (const [, provider] of others) registerProvider(provider.name, provider)
})

test.each(others.map(([protocol]) => protocol))('%s at another host gets no seals', async (protocol) => {
  const source = sources.find((each) => each.protocol === protocol)
  if (!source) throw new Error(`There is no source ${protocol}.`)
  // The same model name: only the host differs.
  const model = source.model.slice(source.model.indexOf(':') + 1)
  const { body } = await takeOver(`other-${protocol}:${model}`, await historyFrom(source))
  const text = JSON.stringify(body)
  for (const secret of [thought, ...source.sealed]) expect(text).not.toContain(secret)
  expectAcceptable(protocol, body)
})
