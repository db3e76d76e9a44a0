/** Two pages on one chat, of an agent and of stored runs: decisions that come one after the other, or again. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

type Asked = { approvalId: string; toolCallId: string }

const call = (id: string, name: string, args = {}): ScriptTurn => [
  { toolCall: { id, name, arguments: args } },
]
const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }
const input = { jsonSchema: { type: 'object' } }

const chunksIn = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
const askedIn = (text: string): Asked[] =>
  chunksIn(text).filter(({ type, isAutomatic }) => type === 'tool-approval-request' && !isAutomatic)

describe.each(['an agent', 'stored runs'])('%s', (kind) => {
  const serve = async (turns: readonly ScriptTurn[], options: AgentOptions) => {
    const agent = new Agent(scriptedModel(turns), options)
    const handler = uiMessageHandler(kind === 'an agent' ? agent : await opened(storeFile(), { agent }))
    const post = (...parts: object[]) =>
      handler(
        new Request('http://statewire.test/chat', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            id: 'chat',
            messages: [user, ...(parts.length > 0 ? [{ id: 'a', role: 'assistant', parts }] : [])],
          }),
        }),
      )
    const decide = ({ approvalId, toolCallId }: Asked, approved = true) =>
      post({
        type: 'tool-erase',
        toolCallId,
        state: 'approval-responded',
        input: {},
        approval: { id: approvalId, approved },
      })
    return { post, decide }
  }

  test('two sub-agents wait: the second yes arrives while the first one works', async () => {
    const ran: string[] = []
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const erase = tool({
      name: 'erase',
      description: 'Erases',
      input,
      needsApproval: true,
      execute: async (args) => {
        ran.push(String(Object(args).path))
        await gate
        return 'erased'
      },
    })
    const sub = (name: string) =>
      new Agent(scriptedModel([call('call_0', 'erase', { path: name }), `${name} is done.`]), {
        tools: [erase],
      }).asTool({ name, description: name })
    const both: ScriptTurn = ['left', 'right'].map((name) => ({
      toolCall: { id: name, name, arguments: { prompt: 'Go' } },
    }))
    const { post, decide } = await serve([both, 'Done.'], {
      tools: [sub('left'), sub('right')],
      toolExecution: 'parallel',
    })
    const asked = askedIn(await (await post()).text())
    expect(asked).toHaveLength(2)
    const [left = never(), right = never()] = asked
    const first = await decide(left)
    await expect.poll(() => ran).toEqual(['left'])
    const second = await decide(right)
    expect([first.status, second.status]).toEqual([200, 200])
    await expect.poll(() => ran).toEqual(['left', 'right'])
    // A decision counts once, also while the answer is being given.
    expect((await decide(left)).status).toBe(409)
    release()
    for (const response of [first, second]) {
      const chunks = chunksIn(await response.text())
      expect(chunks).toContainEqual(expect.objectContaining({ type: 'text-delta', delta: 'Done.' }))
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    }
    expect((await decide(right)).status).toBe(409)
    expect(ran).toEqual(['left', 'right'])
  })

  test('each limit is asked about once, and a chat that reaches it again ends its stream', async () => {
    const ran: number[] = []
    const look = tool({ name: 'look', description: 'Looks', input, execute: () => ran.push(1) })
    const turns = [1, 2, 3].map((n) => call(`call_${n}`, 'look'))
    const { post, decide } = await serve([...turns, 'Done.'], {
      tools: [look],
      limits: { steps: 1 },
      atLimit: 'ask',
    })
    const [first = never()] = askedIn(await (await post()).text())
    const [second = never()] = askedIn(await (await decide(first)).text())
    expect(second.approvalId).not.toBe(first.approvalId)
    expect((await decide(first)).status).toBe(409)
    expect((await decide(second, false)).status).toBe(200)
    expect((await decide(second)).status).toBe(409)
    expect(ran).toHaveLength(2)
  })

  test('an answer of a stale page is not one to a later question of the same id', async () => {
    const turns = [call('call_0', 'ask', { what: 'name' }), call('call_0', 'ask', { what: 'key' }), 'Done.']
    const { post } = await serve(turns, { tools: [tool({ name: 'ask', description: 'Asks', input })] })
    const answer = (what: string, toolCallId = 'call_0') => ({
      type: 'tool-ask',
      toolCallId,
      state: 'output-available',
      input: { what },
      output: what,
    })
    await (await post()).text()
    const asked = chunksIn(await (await post()).text()).findLast(
      ({ type }) => type === 'tool-input-available',
    )
    expect((await post(answer('name'))).status).toBe(409)
    // Of two parts under one id, the one that shows the question that waits comes last.
    const unanswered = { ...answer('key', asked.toolCallId), state: 'input-available' }
    expect((await post(answer('key', asked.toolCallId), unanswered)).status).toBe(409)
    const last = await post(answer('key', asked.toolCallId))
    expect(await last.text()).toContain('Done.')
  })
})

const never = (): never => {
  throw new Error('It does not wait.')
}
