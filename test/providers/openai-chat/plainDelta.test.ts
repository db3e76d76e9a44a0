import { assert, constantFrom, option, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { mistral } from '../../../providers/mistral/index.ts'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { plainProfile } from './plainProfile.ts'

// Chunks with text alone take a short way through the decoder. A field that nobody knows sends them the long way:
// both must say the same, whatever else the chunk has.

const maybe = <T>(...values: T[]) => option(constantFrom(...values), { nil: undefined })

const chunks = record({
  id: maybe('r1', 'r2', ''),
  object: maybe('chat.completion.chunk', 'error'),
  model: maybe('m'),
  usage: maybe<unknown>(null, { prompt_tokens: 3 }, {}),
  error: maybe<unknown>(null, { message: 'no' }, 'no'),
  citations: maybe<unknown>(null, ['a']),
  extraChoice: maybe({ index: 1, delta: { content: 'other' } }, null),
  choice: record({
    index: maybe<unknown>(0, 1, '0', null),
    finish_reason: maybe('stop', 'length', null),
    logprobs: maybe<unknown>(null, { content: [] }),
    error: maybe<unknown>({ message: 'no' }),
    delta: record({
      role: maybe('assistant'),
      content: option(string(), { nil: undefined }),
      reasoning_content: maybe<unknown>('hm', '', null),
      refusal: maybe<unknown>('no', null),
      images: maybe<unknown>([{ image_url: { url: 'https://a/b.png' } }]),
      tool_calls: maybe<unknown>(null, [], [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }]),
      ['__proto__']: maybe<unknown>({ content: 'evil' }),
    }),
  }),
}).map(({ choice, extraChoice, ...rest }) => ({
  ...rest,
  choices: extraChoice === undefined ? [choice] : [choice, extraChoice],
}))

const targets = [
  { name: 'openai-chat', open: () => openaiChat.decoder(targetOf({})) },
  { name: 'with think tags', open: () => openaiChat.decoder(targetOf({ splitThinkTags: true })) },
  { name: 'mistral', open: () => mistral.decoder(targetOf({})) },
]
const targetOf = (quirks: object) => ({
  provider: 'acme',
  model: 'm1',
  profile: { ...plainProfile, ...quirks },
})

test.each(targets)('$name: says the same of a chunk whether or not it takes the short way', ({ open }) => {
  const first = { id: 'r1', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
  const read = (chunk: object, event: string | undefined): string => {
    const decoder = open()
    const deltas = [first, chunk, first, chunk].flatMap((each) => [
      ...decoder.push({ event, data: JSON.stringify(each) }),
    ])
    // An error may quote the chunk it was made of, and cuts it where it is long.
    return JSON.stringify(deltas, (key, value) =>
      key === 'message' ? value.replaceAll(',"unknown_field":1', '').slice(0, 100) : value,
    )
  }
  assert(
    property(chunks, maybe('error', 'message'), (chunk, event) => {
      expect(read(chunk, event)).toBe(read({ ...chunk, unknown_field: 1 }, event))
    }),
    { numRuns: 1000 },
  )
})
