/** Changes of the prompt and of the tools in the middle of a conversation, as OpenAI takes them. */
import { expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import { openaiResponsesProfile } from '../../../providers/openai-responses/profile.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest, ToolSpec } from '../../../src/model/chatModel.ts'
import { changeMessage } from '../../../src/model/promptChange.ts'

const spec = (name: string): ToolSpec => ({ name, description: name, inputSchema: { type: 'object' } })
const [look, other, more] = ['look', 'other', 'more'].map(spec) as [ToolSpec, ToolSpec, ToolSpec]

const target = {
  provider: 'openai',
  model: 'gpt-6-luna',
  profile: openaiResponsesProfile('gpt-6-luna'),
}

const bodyOf = (request: ModelRequest): JsonObject => openaiResponses.request(request, target).body

const first = [userMessage('Go'), modelMessage('Well.'), userMessage('Go on')]

it('a changed prompt is a message of the developer, and the instructions stay', () => {
  const change = changeMessage('Be kind.', { added: [], removed: [] })
  const before = bodyOf({ messages: first, tools: [look] })
  const after = bodyOf({ messages: [...first, change], tools: [look] })
  const input = before.input as JsonObject[]
  expect(after).toEqual({
    ...before,
    input: [...input, { type: 'message', role: 'developer', content: expect.stringContaining('Be kind.') }],
  })
})

it('an added tool is an item, and comes once', () => {
  const change = changeMessage(undefined, { added: [look, more], removed: [] })
  const { input, tools, tool_choice: choice } = bodyOf({ messages: [...first, change], tools: [look] })
  expect((input as JsonObject[]).slice(3)).toEqual([
    { type: 'additional_tools', role: 'developer', tools: [expect.objectContaining({ name: 'more' })] },
  ])
  expect(tools).toEqual([expect.objectContaining({ name: 'look' })])
  expect(choice).toBeUndefined()
})

it('an added tool can be chosen where the first request had none', () => {
  const change = changeMessage(undefined, { added: [more], removed: [] })
  const body = bodyOf({ messages: [...first, change], toolChoice: { tool: 'more' } })
  expect(body.tool_choice).toEqual({ type: 'function', name: 'more' })
})

it.each([
  { choice: undefined, sent: { type: 'allowed_tools', mode: 'auto' } },
  { choice: 'required' as const, sent: { type: 'allowed_tools', mode: 'required' } },
])('a removed tool is left out of those that are allowed: $sent.mode', ({ choice, sent }) => {
  const change = changeMessage(undefined, { added: [more], removed: ['other'] })
  const body = bodyOf({
    messages: [...first, change],
    tools: [look, other],
    ...(choice && { toolChoice: choice }),
  })
  expect(body.tools).toHaveLength(2)
  expect(body.tool_choice).toEqual({
    ...sent,
    tools: [
      { type: 'function', name: 'look' },
      { type: 'function', name: 'more' },
    ],
  })
})

it('a tool that comes back is allowed again, without a second definition', () => {
  const gone = changeMessage(undefined, { added: [], removed: ['look'] })
  const back = changeMessage(undefined, { added: [look], removed: [] })
  const messages = [...first, gone, modelMessage('Hm.'), userMessage('And?'), back]
  const body = bodyOf({ messages, tools: [look] })
  expect(JSON.stringify(body.input)).not.toContain('additional_tools')
  expect(body.tool_choice).toBeUndefined()
})

it('no tool may be called where all are removed', () => {
  const change = changeMessage(undefined, { added: [], removed: ['look'] })
  expect(bodyOf({ messages: [...first, change], tools: [look] }).tool_choice).toBe('none')
})
