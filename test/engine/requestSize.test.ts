/** How long a request is, in characters: the measure for what fits. */
import { describe, expect, test } from 'vitest'
import { resolveConfig } from '../../machines/agent/agentConfig.ts'
import type { AgentInput } from '../../machines/agent/events.ts'
import { initialState } from '../../machines/agent/runInput.ts'
import { charactersIn, requestCharacters, sizeOf } from '../../machines/compaction/requestSize.ts'
import {
  type ChatMessage,
  dataPart,
  linkPart,
  modelMessage,
  type Part,
  tool,
  userMessage,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const file = 4800
const photo = dataPart('image/png', 'A'.repeat(100_000), 'photo.png')
const link = linkPart('https://example.com/plan.png', 'image/png')
const result = (parts?: (typeof photo | typeof link)[]): Part => ({
  type: 'toolResult',
  id: 'a',
  name: 'look',
  result: 'seen',
  ...(parts && { parts }),
})

describe('the size of a message', () => {
  test.each<[string, Part[], Part[], number]>([
    ['of text is that of its JSON', [{ type: 'text', text: 'hi' }], [{ type: 'text', text: 'hi' }], 0],
    ['with a link counts its address', [link], [link], 0],
    ['with a file counts the file, and not its length', [photo], [{ ...photo, data: '' }], 1],
    ['with two files counts both', [photo, photo], [photo, photo].map((each) => ({ ...each, data: '' })), 2],
    ['with a result is that of its JSON', [result()], [result()], 0],
    ['counts the files of a result', [result([photo, link])], [result([])], 2],
    ['adds it all up', [photo, result([photo]), link], [{ ...photo, data: '' }, result([]), link], 2],
  ])('%s', (_, parts, counted, files) => {
    const message = userMessage(parts)
    const expected = JSON.stringify({ role: 'user', parts: counted }).length + files * file
    expect(sizeOf(message)).toBe(expected)
    // It is remembered, and stays the same.
    expect(sizeOf(message)).toBe(expected)
  })

  test('of several messages is their sum', () => {
    const messages: ChatMessage[] = [userMessage('one'), modelMessage('two'), userMessage([photo])]
    const [one = 0, two = 0, three = 0] = messages.map(sizeOf)
    expect(charactersIn(messages)).toBe(one + two + three)
    expect(charactersIn([])).toBe(0)
  })
})

describe('the size of a request', () => {
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
  const specs = JSON.stringify([{ name: 'look', description: 'Looks', inputSchema: look.inputSchema ?? {} }])
  const empty = '[]'.length

  test.each<[string, { system?: string; tools?: (typeof look)[] }, AgentInput, number]>([
    ['is that of the messages', {}, {}, empty],
    ['counts the system prompt', { system: 'Be brief.' }, {}, empty + 9],
    [
      'counts the system prompt of the run in its place',
      { system: 'Be brief.' },
      { system: 'Go!' },
      empty + 3,
    ],
    ['counts the tools', { tools: [look] }, {}, specs.length],
    ['counts tools and system prompt', { tools: [look], system: 'Be brief.' }, {}, specs.length + 9],
  ])('%s', (_, options, input, fixed) => {
    const config = resolveConfig({ model: scriptedModel([]), ...options })
    const state = initialState({ ...input, prompt: 'Hi.' }, 0, config)
    expect(requestCharacters(config, state)).toBe(sizeOf(userMessage('Hi.')) + fixed)
    expect(requestCharacters(config, state)).toBe(sizeOf(userMessage('Hi.')) + fixed)
  })
})
