import { expectTypeOf, test } from 'vitest'
import { defineProvider, openaiChat, type ProviderInfo } from '../../providers/index.ts'

test('a profile may be written as it is, without types: its words stay words', () => {
  const provider = defineProvider({
    name: 'deepseek',
    protocol: openaiChat,
    baseUrl: 'https://api.deepseek.com',
    defaultModel: 'deepseek-chat',
    profile: () => ({
      tools: true,
      parallelTools: true,
      nativeSchema: false,
      schemaWithTools: false,
      thinking: true,
      attachments: { images: false, pdf: false, audio: false, links: false },
      maxTokensField: 'max_tokens',
      reasoningReplay: 'reasoning_content',
      refuses: ['temperature'],
    }),
  })
  expectTypeOf(provider).toExtend<ProviderInfo>()
})
