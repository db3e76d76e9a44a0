/** Tools that come from a source: each step takes those that are there then. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { currentTools, specsOf } from '../../machines/tools/runTools.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import { aguiHandler, uiMessageHandler } from '../../src/ui/index.ts'

const named = (name: string, does = () => {}, says = name): Tool =>
  tool({
    name,
    description: name,
    execute: () => {
      does()
      return says
    },
  })

const call = (name: string) => [{ toolCall: { name } }]

/** A source whose tool `grow` adds another. */
const growing = () => {
  const source: { tools: Tool[] } = { tools: [] }
  source.tools = [named('grow', () => (source.tools = [...source.tools, named('grown')]))]
  return source
}

const offeredTo = (model: ReturnType<typeof scriptedModel>) =>
  model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))

test('a tool that comes up during a run is offered and called at the next step', async () => {
  const model = scriptedModel([call('grow'), call('grown'), 'done'])
  const { messages } = await new Agent(model, { tools: [named('own'), growing()] }).send('go')
  expect(offeredTo(model)).toEqual([
    ['own', 'grow'],
    ['own', 'grow', 'grown'],
    ['own', 'grow', 'grown'],
  ])
  expect(messages.flatMap(toolResultsOf)[1]).toMatchObject({ result: 'grown' })
})

test('so is one of a source that came with the prompt', async () => {
  const model = scriptedModel([call('grow'), call('grown'), 'done'])
  const agent = new Agent(model, { tools: [named('own')] })
  const { messages } = await agent.send('go', { tools: [growing()] })
  expect(messages.flatMap(toolResultsOf)[1]).toMatchObject({ result: 'grown' })
})

test.each([true, false])(
  'and where a typed answer is asked for (native schema: %s)',
  async (nativeSchema) => {
    const end = nativeSchema ? '{"a":1}' : [{ toolCall: { name: 'return_result', arguments: { a: 1 } } }]
    const model = scriptedModel([call('grow'), call('grown'), end], { profile: { nativeSchema } })
    const { output, messages } = await new Agent(model, { tools: [growing()] }).sendFor(
      'go',
      z.object({ a: z.number() }),
    )
    expect(output).toEqual({ a: 1 })
    expect(messages.flatMap(toolResultsOf)[1]).toMatchObject({ result: 'grown' })
  },
)

test('a tool that takes the place of another is offered and called at the next step', async () => {
  const source: { tools: Tool[] } = { tools: [] }
  source.tools = [named('swap', () => (source.tools = [named('swapped')]))]
  const model = scriptedModel([call('swap'), call('swapped'), 'done'])
  const { messages } = await new Agent(model, { tools: [source] }).send('go')
  expect(offeredTo(model)).toEqual([['swap'], ['swapped'], ['swapped']])
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'swap' }, { result: 'swapped' }])
})

test('what a source does not change is the same object at each step, and so is what the model sees', () => {
  const source = { tools: [named('a')] }
  const entries = [named('own'), source]
  const before = currentTools(entries)
  expect([...before.keys()]).toEqual(['own', 'a'])
  expect(currentTools(entries)).toBe(before)
  expect(specsOf(before)).toBe(specsOf(before))
  source.tools.push(named('b'))
  const after = currentTools(entries)
  expect([...after.keys()]).toEqual(['own', 'a', 'b'])
  expect(currentTools(entries)).toBe(after)
  expect(specsOf(after).map(({ name }) => name)).toEqual(['own', 'a', 'b'])
  expect([...before.keys()]).toEqual(['own', 'a'])
})

test('the model sees the name, the description and the schema of a tool, and nothing else', () => {
  const jsonSchema = { type: 'object', properties: { n: { type: 'number' } } }
  const typed = tool({ name: 'typed', description: 'Typed', input: { jsonSchema }, execute: () => 1 })
  const bare: Tool = { ...named('bare'), inputSchema: null }
  expect(specsOf(currentTools([typed, bare]))).toEqual([
    { name: 'typed', description: 'Typed', inputSchema: jsonSchema },
    { name: 'bare', description: 'bare', inputSchema: {} },
  ])
})

test('prepareStep may offer what the source has at that step', async () => {
  const model = scriptedModel([call('grow'), call('grown'), 'done'])
  const agent = new Agent(model, {
    tools: [growing()],
    prepareStep: ({ step }) => (step === 2 ? { tools: ['grown'] } : undefined),
  })
  await agent.send('go')
  expect(offeredTo(model)[1]).toEqual(['grown'])
})

test('a restored run takes the tools that are there now', async () => {
  const source = {
    tools: [tool({ name: 'act', description: 'x', needsApproval: true, execute: () => 'old' })],
  }
  const { pendingApproval } = await new Agent(scriptedModel([call('act')]), { tools: [source] }).send('go')
  if (!pendingApproval) throw new Error('Nothing is pending.')
  source.tools = [tool({ name: 'act', description: 'x', needsApproval: true, execute: () => 'new' })]
  const { messages } = await new Agent(scriptedModel(['done']), { tools: [source] }).resume(pendingApproval, {
    [pendingApproval.calls[0].id]: true,
  })
  expect(messages.flatMap(toolResultsOf)[0]).toMatchObject({ result: 'new' })
})

test('two tools of a name are a mistake when the agent is made, and later the first one stays', async () => {
  const source = { tools: [named('twice')] }
  const agent = () => new Agent(scriptedModel([]), { tools: [source, named('twice')] }).machine
  expect(agent).toThrow(ConfigurationError)
  source.tools = [
    named('grow', () => (source.tools = [...source.tools, named('twice', undefined, 'theirs')])),
  ]
  const model = scriptedModel([call('grow'), call('twice'), 'done'])
  const { messages } = await new Agent(model, { tools: [source, named('twice', undefined, 'mine')] }).send(
    'go',
  )
  expect(messages.flatMap(toolResultsOf)[1]).toMatchObject({ result: 'mine' })
})

describe('a source that takes the name of another tool between two runs breaks none of them', () => {
  const names = ['own', 'first', 'task_status', 'return_result']
  const schema = z.object({ a: z.number() })
  const made = (turns: ScriptTurn[], profile = {}) => {
    const [first, second] = [{ tools: [named('first')] }, { tools: [] as Tool[] }]
    const model = scriptedModel(turns, { profile })
    const agent = new Agent(model, { tools: [named('own'), first, second] })
    second.tools = names.map((name) => named(name, undefined, 'theirs'))
    return { agent, model }
  }

  test('a send, and its machine', async () => {
    const { agent, model } = made([[call('own'), call('first')].flat(), 'done'])
    const { messages } = await agent.send('go')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'own' }, { result: 'first' }])
    expect(offeredTo(model)[0]).toEqual(['own', 'first', 'task_status', 'return_result'])
  })

  test.each([true, false])('a typed answer (native schema: %s)', async (nativeSchema) => {
    const end = nativeSchema ? '{"a":1}' : [{ toolCall: { name: 'return_result', arguments: { a: 1 } } }]
    const { agent } = made([end], { nativeSchema })
    expect((await agent.sendFor('go', schema)).output).toEqual({ a: 1 })
  })

  test('the pages that an agent serves, and their own tools', async () => {
    const post = (handler: (request: Request) => Promise<Response>, body: object) =>
      handler(
        new Request('http://statewire.test/chat', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      )
    const said = { id: 'u', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] }
    const page = await post(uiMessageHandler(made(['Hello.']).agent), { id: 'c', messages: [said] })
    expect(await page.text()).toContain('Hello.')
    const tools = [{ name: 'paint', description: 'Paints', parameters: {} }]
    const thread = { threadId: 'c', runId: 'r', messages: [said], tools }
    expect(await (await post(aguiHandler(made(['Hello.']).agent), thread)).text()).toContain('Hello.')
    const taken = { ...thread, tools: [{ ...tools[0], name: 'first' }] }
    expect((await post(aguiHandler(made([]).agent), taken)).status).toBe(400)
  })
})

test('a source of anything but tools is refused', () => {
  const wrong = { tools: [{ name: 'x' }] }
  // @ts-expect-error not a tool
  expect(() => new Agent(scriptedModel([]), { tools: [wrong] })).toThrow('tools[0].tools[0] is not a tool')
})
