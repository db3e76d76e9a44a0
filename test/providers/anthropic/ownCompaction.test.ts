/** Claude's own compaction pauses the answer. A server that does nothing else must not keep a run busy. */
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/Agent.ts'
import { Chat } from '../../../src/agent/Chat.ts'
import { ModelError } from '../../../src/messages/errors.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { validateHistory } from '../../../src/messages/validateHistory.ts'
import { tool } from '../../../src/tools/tool.ts'
import { rejection } from '../../engine/watching.ts'
import { close, grow, message, open, textBlock } from '../../hostile/anthropicWire.ts'
import { loopback } from '../../loopback.ts'

const compaction = (index: number, content: string | null): JsonObject[] => [
  open(index, { type: 'compaction', content: null, encrypted_content: null }),
  grow(index, { type: 'compaction_delta', content, encrypted_content: content && 'enc' }),
  close(index),
]
const search = (index: number): JsonObject[] => [
  open(index, { type: 'server_tool_use', id: `srv_${index}`, name: 'web_search', input: { query: 'x' } }),
  close(index),
]

const compacts = message(compaction(0, 'They talked.'), 'compaction')
const failsToCompact = message(compaction(0, null), 'compaction')
const says = (text: string, stop = 'end_turn') => message(textBlock(0, text), stop)

/** A server that gives these answers, the last one for ever. */
const server = async (...answers: string[][]) => {
  const { url, requests } = await loopback((_, nth) => ({
    body: (answers[Math.min(nth, answers.length - 1)] ?? []).join(''),
  }))
  return { agent: new Agent('anthropic:claude-sonnet-5-5', { baseUrl: url, apiKey: 'key' }), requests }
}

describe('an answer that is paused for a compaction', () => {
  it('goes on from the compacted conversation', async () => {
    const { agent, requests } = await server(compacts, says('Here I am.'))
    const { output, messages } = await agent.send('Go on.')
    expect(output).toBe('Here I am.')
    expect(requests[1]?.body.messages).toEqual([
      {
        role: 'assistant',
        content: [expect.objectContaining({ type: 'compaction', content: 'They talked.' })],
      },
    ])
    expect(validateHistory(messages)).toEqual([])
  })

  it.each([
    ['again and again', [compacts], 2],
    ['without success', [failsToCompact], 2],
    ['first without success, then with it', [failsToCompact, compacts], 2],
    ['after a part of the answer', [says('Well,', 'pause_turn'), compacts], 3],
  ])('%s ends the run with an error', async (_, answers, asked) => {
    const { agent, requests } = await server(...answers)
    const error = await rejection(agent.send('Go on.'), ModelError)
    expect(error).toMatchObject({ code: 'empty_pauses', provider: 'anthropic', retryable: false })
    expect(error.message).toContain('paused twice in a row (compaction)')
    expect(requests).toHaveLength(asked)
    // Every request that was answered is paid for.
    expect(error.partial?.usage).toMatchObject({ inputTokens: 10 * asked, outputTokens: 5 * asked })
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
  })

  it('goes on as long as something comes between', async () => {
    const { agent, requests } = await server(
      compacts,
      says('One, ', 'pause_turn'),
      compacts,
      message(search(0), 'pause_turn'),
      failsToCompact,
      says('two.'),
    )
    const { output } = await agent.send('Count.')
    expect(output).toBe('One, two.')
    expect(requests).toHaveLength(6)
  })

  it('is the last one at a limit, and no error there', async () => {
    const { agent, requests } = await server(compacts)
    const { finishReason } = await agent.send('Go on.', { maxSteps: 1 })
    expect(finishReason).toBe('maxSteps')
    expect(requests).toHaveLength(1)
  })
})

it.each([
  ['noted by the server', [], []],
  ['not noted by the server', undefined, ['tool_removal']],
])(
  'a prompt that changed before a compaction still counts after it, and so do tools: %s',
  async (_, tool_changes, more) => {
    const noted: JsonObject[] = [
      open(0, {
        type: 'compaction',
        content: 'They talked.',
        encrypted_content: 'enc',
        ...(tool_changes && { tool_changes }),
      }),
      close(0),
    ]
    const { agent: plain, requests } = await server(
      says('One.'),
      says('Two.'),
      message([...noted, ...textBlock(1, 'Three.')], 'end_turn'),
      says('Four.'),
      says('Five.'),
    )
    const tools = [tool({ name: 'look', description: 'Looks', execute: () => 'ok' })]
    const agent = new Agent(plain.model, {
      system: 'Be brief.',
      tools,
      prepareStep: ({ messages }) => (messages.length > 1 ? { system: 'Be kind.', tools: [] } : {}),
    })
    const chat = new Chat(agent)
    for (const prompt of ['1', '2', '3', '4', '5']) await chat.send(prompt)
    const rolesIn = (at: number) =>
      JSON.parse(JSON.stringify(requests[at]?.body.messages)).map(
        ({ role, content }: { role: string; content: JsonObject[] }) =>
          role === 'system' ? content.map(({ type }) => type) : role,
      )
    const change = ['text', ...more]
    expect(rolesIn(3)).toEqual(['assistant', 'user', change])
    expect(rolesIn(4)).toEqual(['assistant', 'user', change, 'assistant', 'user'])
  },
)
