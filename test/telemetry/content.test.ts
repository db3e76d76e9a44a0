/** Content is recorded only where it is asked for; then without credentials, and never more than fits. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { dataPart, linkPart, modelMessage, userMessage } from '../../src/messages/messages.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { type Observed, observe } from './observed.ts'

const note = tool({
  name: 'note',
  description: 'Writes it down',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => `noted-${text}`,
})

/** Everything that left the process. */
const exported = ({ spans }: Observed): string =>
  JSON.stringify(spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })))

const json = (value: unknown): unknown => JSON.parse(String(value))

test('no content is in a trace, unless it is asked for', async () => {
  const observed = observe()
  const turns: ScriptTurn[] = [
    [{ thinking: 'w-thought' }, { toolCall: { id: 'a', name: 'note', arguments: { text: 'w-argument' } } }],
    [{ error: { message: 'w-error: bad prompt "w-prompt"', retryable: true } }],
    [{ text: 'w-answer' }, { error: { message: 'w-error' } }],
  ]
  const agent = new Agent(scriptedModel(turns), {
    system: 'w-system',
    tools: [note],
    retry: { maxRetries: 1, initialDelayMs: 1 },
    inspect: telemetry(),
  })
  await expect(agent.send('w-prompt')).rejects.toThrow('w-error')
  expect(observed.tree()).toContain('chat script !')
  expect(exported(observed)).not.toMatch(/w-|noted/)
})

test('a conversation is written as the conventions say', async () => {
  const observed = observe()
  const call: ScriptTurn = [
    { thinking: 'Hm.' },
    { text: 'I write.' },
    { toolCall: { id: 'a', name: 'note', arguments: { text: 'x', deep: [1, true, null, { y: 2 }] } } },
  ]
  const agent = new Agent(scriptedModel([call, 'Done.']), {
    system: 'Be brief.',
    tools: [note],
    inspect: telemetry({ captureContent: true }),
  })
  await agent.send('Write x', {
    history: [userMessage('Hi'), modelMessage('Hello')],
    attachments: [
      dataPart('image/png', 'iVBORw0KGgo='),
      linkPart('https://example.com/a.pdf', 'application/pdf'),
    ],
  })
  const [first, tools, second, run] = observed.spans
  const asked = {
    role: 'user',
    parts: [
      { type: 'text', content: 'Write x' },
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: '' },
      { type: 'uri', mime_type: 'application/pdf', modality: 'document', uri: 'https://example.com/a.pdf' },
    ],
  }
  const args = { text: 'x', deep: [1, true, null, { y: 2 }] }
  const called = {
    role: 'assistant',
    parts: [
      { type: 'reasoning', content: 'Hm.' },
      { type: 'text', content: 'I write.' },
      { type: 'tool_call', id: 'a', name: 'note', arguments: args },
    ],
  }
  const before = [
    { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
    { role: 'assistant', parts: [{ type: 'text', content: 'Hello' }] },
    asked,
  ]
  const result = { role: 'tool', parts: [{ type: 'tool_call_response', id: 'a', response: 'noted-x' }] }
  const answer = { role: 'assistant', parts: [{ type: 'text', content: 'Done.' }], finish_reason: 'stop' }
  expect(json(first?.attributes['gen_ai.system_instructions'])).toEqual([
    { type: 'text', content: 'Be brief.' },
  ])
  expect(json(first?.attributes['gen_ai.input.messages'])).toEqual(before)
  expect(json(first?.attributes['gen_ai.output.messages'])).toEqual([
    { ...called, finish_reason: 'tool_call' },
  ])
  expect(json(first?.attributes['gen_ai.tool.definitions'])).toMatchObject([
    { type: 'function', name: 'note', description: 'Writes it down', parameters: { required: ['text'] } },
  ])
  expect(json(second?.attributes['gen_ai.input.messages'])).toEqual([...before, called, result])
  expect(json(tools?.attributes['gen_ai.tool.call.arguments'])).toEqual(args)
  expect(tools?.attributes['gen_ai.tool.call.result']).toBe('noted-x')
  expect(json(run?.attributes['gen_ai.input.messages'])).toEqual([asked])
  expect(json(run?.attributes['gen_ai.output.messages'])).toEqual([answer])
})

test('credentials are removed, those of the model in every form', async () => {
  const observed = observe()
  const secret = 'the-own-key-of-this-server'
  const text = `Bearer abcdef123456" sk-0123456789abcdefghij ${secret} \\`
  const model = scriptedModel([
    [{ toolCall: { id: 'a', name: 'note', arguments: { text, [`key ${secret}`]: text } } }],
    [{ text }, { error: { message: text } }],
  ])
  const own = Object.assign(model, { redact: (said: string) => said.replaceAll(secret, '***') })
  const agent = new Agent(own, {
    system: text,
    tools: [note],
    apiKey: secret,
    headers: { 'x-key': 'header-key-0123456789' },
    inspect: telemetry({ captureContent: true }),
  })
  await expect(agent.send(text, { history: [userMessage(text), modelMessage(text)] })).rejects.toThrow()
  const all = exported(observed)
  expect(all).toContain('***')
  for (const part of ['abcdef123456', '0123456789', secret]) expect(all).not.toContain(part)
  for (const { attributes } of observed.spans)
    for (const [name, value] of Object.entries(attributes))
      if (/messages|instructions|definitions|arguments/.test(name)) expect(() => json(value)).not.toThrow()
})

test('a secret that the limit would cut in two is not shown in part', async () => {
  const observed = observe()
  const secret = `sk-${'z'.repeat(60)}`
  const prompts = Array.from(
    { length: 80 },
    (_, index) => `${'a '.repeat(15_960)}${'b'.repeat(index)} ${secret} `,
  )
  const agent = new Agent(scriptedModel(prompts.map(() => 'Ok')), {
    inspect: telemetry({ captureContent: true }),
  })
  for (const prompt of prompts) await agent.send(prompt.repeat(3))
  expect(exported(observed)).not.toMatch(/sk-|zz/)
})

test('content that does not fit is cut, the newest is kept, and the rest is counted', async () => {
  const observed = observe()
  const history = Array.from({ length: 400 }, (_, index) =>
    index % 2 === 0 ? userMessage(`question ${index} ${'x'.repeat(400)}`) : modelMessage(`answer ${index}`),
  )
  const agent = new Agent(scriptedModel(['y'.repeat(100_000)]), {
    inspect: telemetry({ captureContent: true }),
  })
  await agent.send('the last question', { history })
  const { attributes } = observed.span('chat script')
  const input = String(attributes['gen_ai.input.messages'])
  expect(input.length).toBeLessThan(60_000)
  expect(input).toContain('the last question')
  expect(input).not.toContain('question 0 ')
  const shown = json(input)
  expect(attributes['statewire.omitted_messages']).toBe(401 - (Array.isArray(shown) ? shown.length : 0))
  expect(String(attributes['gen_ai.output.messages'])).toMatch(/y{100}⟨… 100000 characters in all⟩/)
})

test.each([
  ['a list without end', { list: Array.from({ length: 200_000 }, () => 0) }],
  ['many keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, {}]))],
  ['a long key', { ['k'.repeat(500_000)]: 1 }],
  ['texts without end', { list: Array.from({ length: 50_000 }, () => '"\n') }],
])('arguments that are %s stay small', async (_, args) => {
  const observed = observe()
  const take = tool({ name: 'take', description: 'Takes', input: z.looseObject({}), execute: () => 'ok' })
  const turn: ScriptTurn = [{ toolCall: { id: 'a', name: 'take', arguments: args } }]
  const agent = new Agent(scriptedModel([turn, 'Done']), {
    tools: [take],
    inspect: telemetry({ captureContent: true }),
  })
  await agent.send('Go')
  for (const { attributes } of observed.spans) expect(JSON.stringify(attributes).length).toBeLessThan(200_000)
  const shown = observed.span('execute_tool take').attributes['gen_ai.tool.call.arguments']
  expect(() => json(shown)).not.toThrow()
})

test('text that cannot be searched for credentials is not shown', async () => {
  const observed = observe()
  const model = Object.assign(scriptedModel(['w-answer']), {
    redact: () => {
      throw new Error('no key yet')
    },
  })
  await new Agent(model, { inspect: telemetry({ captureContent: true }) }).send('w-prompt')
  expect(observed.tree()).toBe('invoke_agent\n  chat script')
  expect(exported(observed)).not.toContain('w-')
})

test('ids and names that a server made up stay short', async () => {
  const observed = observe()
  const long = 'x'.repeat(100_000)
  const turn: ScriptTurn = [{ responseId: long }, { toolCall: { id: long, name: long } }]
  await new Agent(scriptedModel([turn, 'Done']), { tools: [note], inspect: telemetry() }).send('Go')
  expect(observed.tree()).toContain('execute_tool !')
  expect(exported(observed).length).toBeLessThan(5_000)
})
