/** A yes runs exactly what was shown, once: no matter what else the run does, and who else decides. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'

const call = (id: string, path: string, name = 'erase'): ScriptTurn => [
  { toolCall: { id, name, arguments: { path } } },
]

const eraser = (ran: string[], description = 'Erases a file', mark = ''): Tool =>
  tool({
    name: 'erase',
    description,
    input: { jsonSchema: { type: 'object' } },
    needsApproval: true,
    execute: (args) => {
      ran.push(`${mark}${String(Object(args).path)}`)
      return 'erased'
    },
  })

const waitOf = async (run: { result: Promise<{ pendingApproval?: unknown }>; pending: PendingCall[] }) => {
  await run.result
  return run.pending
}

describe('a question', () => {
  test('has an identity of its own, even where the provider numbers its calls', async () => {
    const ran: string[] = []
    const turns = [call('call_0', 'draft.txt'), call('call_0', 'EVERYTHING'), 'Done.', 'Done.']
    const agent = new Agent(scriptedModel(turns), { tools: [eraser(ran)] })
    const [stale, run] = [agent.start('Go'), agent.start('Go')]
    const [draft] = await waitOf(stale)
    const [all] = await waitOf(run)
    const question = draft?.question ?? ''
    expect(all).toMatchObject({ id: 'call_0', arguments: { path: 'EVERYTHING' } })
    expect(all?.question).not.toBe(question)
    expect(() => run.approve('call_0', { question })).toThrow(ConfigurationError)
    expect(() => run.reject('call_0', 'no', { question })).toThrow(/another question/)
    const { pendingApproval = never() } = await run.result
    await expect(agent.resume(pendingApproval, { call_0: { approve: true, question } })).rejects.toThrow(
      /another question/,
    )
    stale.approve('call_0', { question })
    run.reject('call_0', 'no', { question: all?.question ?? '' })
    await Promise.all([stale.result, run.result])
    expect(ran).toEqual(['draft.txt'])
  })

  test('at a limit is answered once', async () => {
    const ran: string[] = []
    const look = tool({ name: 'look', description: 'Looks', execute: () => ran.push('look') })
    const turns = [1, 2, 3, 4].map(
      (n): ScriptTurn => [{ toolCall: { id: `c${n}`, name: 'look', arguments: {} } }],
    )
    const options = { tools: [look], limits: { steps: 1 }, atLimit: 'ask' as const }
    const run = new Agent(scriptedModel([...turns, 'Done.']), options).start('Go')
    const [first] = await waitOf(run)
    run.approve('limit', { question: first?.question ?? '' })
    const [second] = await waitOf(run)
    expect(second).toMatchObject({ id: 'limit', kind: 'limit' })
    expect(() => run.approve('limit', { question: first?.question ?? '' })).toThrow(/another question/)
    run.reject('limit')
    await run.result
    expect(ran).toHaveLength(2)
  })

  test('that was shown is decided on by itself, whatever is remembered beside it', async () => {
    const ran: string[] = []
    const both = [...(call('c1', 'one') as []), ...(call('c2', 'two') as [])]
    const run = new Agent(scriptedModel([both, 'Done.']), { tools: [eraser(ran)] }).start('Go')
    await waitOf(run)
    run.approve('c1', { remember: 'tool' })
    run.reject('c2')
    await run.result
    expect(ran).toEqual(['one'])
  })

  test('shows a copy: what is done to it changes nothing', async () => {
    const ran: string[] = []
    const run = new Agent(scriptedModel([call('c1', 'draft'), 'Done.']), { tools: [eraser(ran)] }).start('Go')
    const { pendingApproval, messages } = await run.result
    const shown = [...run.pending, ...(pendingApproval?.calls ?? [])]
    for (const each of shown) each.arguments.path = 'EVERYTHING'
    for (const { parts } of [...messages, ...run.messages])
      for (const part of parts) if (part.type === 'toolCall') part.arguments.path = 'EVERYTHING'
    run.approve('c1')
    await run.result
    expect(ran).toEqual(['draft'])
  })
})

describe('an approved call', () => {
  const source = (tools: Tool[]) => ({ tools })

  test.each<[string, (ran: string[]) => { now: Tool[]; other: Tool[] }]>([
    [
      'another server has the name by then',
      (ran) => ({ now: [], other: [eraser(ran, 'Erases a file', 'other ')] }),
    ],
    ['its server has redefined it', (ran) => ({ now: [eraser(ran, 'Erases a disk', 'new ')], other: [] })],
  ])('does not run if %s, and the model learns why', async (_, change) => {
    for (const way of ['live', 'stored'] as const) {
      const ran: string[] = []
      const [first, second] = [source([eraser(ran)]), source([])]
      const model = scriptedModel([call('c1', 'draft'), 'Done.'])
      const agent = new Agent(model, { tools: [first, second] })
      const run = agent.start('Go')
      const { pendingApproval = never() } = await run.result
      const { now, other } = change(ran)
      first.tools = now
      second.tools = other
      if (way === 'live') run.approve('c1')
      else run.abort()
      const { messages } =
        way === 'live' ? await run.result : await agent.resume(pendingApproval, { c1: true })
      expect(ran).toEqual([])
      expect(JSON.stringify(messages)).toContain('is another tool now than the one that was approved')
      await run.result.catch(() => {})
    }
  })

  test('runs if its server lists it again as it was', async () => {
    const ran: string[] = []
    const server = source([eraser(ran)])
    const run = new Agent(scriptedModel([call('c1', 'draft'), 'Done.']), { tools: [server] }).start('Go')
    await run.result
    server.tools = [eraser(ran)]
    run.approve('c1')
    await run.result
    expect(ran).toEqual(['draft'])
  })
})

test('two sub-agents that wait are decided on one after the other', async () => {
  const ran: string[] = []
  const sub = (name: string) =>
    new Agent(scriptedModel([call('call_0', name), `${name} is done.`]), { tools: [eraser(ran)] }).asTool({
      name,
      description: name,
    })
  const both: ScriptTurn = ['left', 'right'].map((name) => ({
    toolCall: { id: name, name, arguments: { prompt: 'Go' } },
  }))
  const run = new Agent(scriptedModel([both, 'Done.']), {
    tools: [sub('left'), sub('right')],
    toolExecution: 'parallel',
  }).start('Go')
  const [left, right] = await waitOf(run)
  run.approve('left/call_0', { question: left?.question ?? '' })
  expect(run.pending).toMatchObject([{ id: 'right/call_0' }])
  run.approve('right/call_0', { question: right?.question ?? '' })
  expect((await run.result).answer).toBe('Done.')
  expect(ran.toSorted()).toEqual(['left', 'right'])
})

const never = (): never => {
  throw new Error('It does not wait.')
}
