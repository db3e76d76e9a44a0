import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { modelMessage, textOf, userMessage } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder, weather } from './sampleTools.ts'
import { brief, collect, endOf, watch } from './watching.ts'

const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
})

describe('1: a plain answer', () => {
  const threeChunks = () =>
    scriptedModel([
      [{ responseId: 'r1' }, { text: 'Hel' }, { text: 'lo ' }, { text: 'Ada' }, { usage: usage(5, 3) }],
    ])

  test('emits the user message, each text, the model message, and one final chunk with the usage', async () => {
    const model = threeChunks()
    const chunks = await collect(new Agent(model).sendStream('Hi'))
    const chunk = (rest: object) => ({
      type: 'chunk',
      id: 'r1',
      output: '',
      messages: [],
      finishReason: 'unspecified',
      metadata: {},
      ...rest,
    })
    expect(chunks).toEqual([
      chunk({ id: '', messages: [userMessage('Hi')] }),
      chunk({ output: 'Hel' }),
      chunk({ output: 'lo ' }),
      chunk({ output: 'Ada' }),
      chunk({ messages: [modelMessage('Hello Ada')] }),
      chunk({ finishReason: 'stop', rawFinishReason: 'stop', usage: usage(5, 3) }),
    ])
    model.assertDone()
  })

  test('stores exactly the text that was streamed', async () => {
    const chunks = await collect(new Agent(threeChunks()).sendStream('Hi'))
    const stored = chunks.flatMap(({ messages }) => messages).filter(({ role }) => role === 'model')
    expect(stored.map(textOf)).toEqual([chunks.map(({ output }) => output).join('')])
  })

  test('gives send the whole text, only the new messages, and the usage', async () => {
    const history = [userMessage('before'), modelMessage('yes')]
    const result = await new Agent(threeChunks()).send('Hi', { history })
    expect(result).toEqual({
      status: 'complete',
      id: 'r1',
      output: 'Hello Ada',
      answer: 'Hello Ada',
      messages: [userMessage('Hi'), modelMessage('Hello Ada')],
      finishReason: 'stop',
      rawFinishReason: 'stop',
      metadata: {},
      usage: usage(5, 3),
    })
  })

  test('sends history, then the prompt with its attachments, after the system prompt', async () => {
    const model = threeChunks()
    const history = [userMessage('before'), modelMessage('yes')]
    const image = { type: 'link' as const, url: 'https://example.com/a.png', mimeType: 'image/png' }
    await new Agent(model, { system: 'Be brief.' }).send('Hi', { history, attachments: [image] })
    expect(model.requests[0]?.messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
      ...history,
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }, image] },
    ])
  })

  test('shows text before the next read has come', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'now' }, { hang: true }]])).sendStream('Hi')
    expect((await stream.next()).value).toMatchObject({ messages: [userMessage('Hi')] })
    expect((await stream.next()).value).toMatchObject({ output: 'now' })
    await stream.return?.()
  })

  test('starts nothing before the first pull', async () => {
    const model = scriptedModel(['never'])
    const stream = new Agent(model).sendStream('Hi')
    await new Promise<void>((next) => setImmediate(next))
    expect(model.requests).toEqual([])
    await stream.return?.()
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(model.requests).toEqual([])
  })

  test('goes through the public states in order', async () => {
    const actor = new Agent(scriptedModel(['Hello'])).actor({ prompt: 'Hi' })
    const seen = watch(actor)
    actor.start()
    await endOf(actor)
    expect([...new Set(seen.states)]).toEqual([
      'Accumulating.Requesting',
      'Accumulating.Streaming',
      'Complete',
    ])
  })
})

describe('4 and 5: the newline between messages', () => {
  const twoRounds = () =>
    scriptedModel([
      [{ text: 'Let me ' }, { text: 'look.' }, { toolCall: { id: 'a', name: 'echo' } }],
      [{ text: 'Once ' }, { text: 'more.' }, { toolCall: { id: 'b', name: 'echo' } }],
      [{ text: 'Do' }, { text: 'ne.' }],
    ])

  test('comes before the first text of each later message only, in the stream only', async () => {
    const chunks = await collect(new Agent(twoRounds(), { tools: [recorder().tool] }).sendStream('Go'))
    expect(chunks.map(({ output }) => output).filter((output) => output !== '')).toEqual([
      'Let me ',
      'look.',
      '\nOnce ',
      'more.',
      '\nDo',
      'ne.',
    ])
    const messages = chunks.flatMap((chunk) => chunk.messages)
    expect(messages.filter(({ role }) => role === 'model').map(textOf)).toEqual([
      'Let me look.',
      'Once more.',
      'Done.',
    ])
  })

  test('makes the output of send equal to the joined stream', async () => {
    const chunks = await collect(new Agent(twoRounds(), { tools: [recorder().tool] }).sendStream('Go'))
    const { output } = await new Agent(twoRounds(), { tools: [recorder().tool] }).send('Go')
    expect(output).toBe('Let me look.\nOnce more.\nDone.')
    expect(chunks.map((chunk) => chunk.output).join('')).toBe(output)
  })

  test('text beside a call is in the stream once and in the history once', async () => {
    const model = scriptedModel([[{ text: 'Asking.' }, { toolCall: { id: 'a', name: 'echo' } }], 'ok'])
    const chunks = await collect(new Agent(model, { tools: [recorder().tool] }).sendStream('Go'))
    expect(chunks.map(brief)).toEqual([
      'user',
      { text: 'Asking.' },
      'model',
      'user',
      { text: '\nok' },
      'model',
      { finishReason: 'stop' },
    ])
    expect(JSON.stringify(model.requests[1]).split('Asking.')).toHaveLength(2)
  })

  test('an empty text delta neither shows a chunk nor uses up the newline', async () => {
    const model = scriptedModel([
      [{ toolCall: { id: 'a', name: 'echo' } }],
      [{ text: '' }, { text: 'ok' }, { text: '' }],
    ])
    const chunks = await collect(new Agent(model, { tools: [recorder().tool] }).sendStream('Go'))
    expect(chunks.map(brief)).toEqual([
      'user',
      'model',
      'user',
      { text: '\nok' },
      'model',
      { finishReason: 'stop' },
    ])
  })
})

describe('7: an empty first answer', () => {
  test('is one model call and an empty stored message', async () => {
    const model = scriptedModel([[]])
    const result = await new Agent(model).send('Hi')
    expect(result.messages).toEqual([userMessage('Hi'), { role: 'model', parts: [] }])
    expect(result).toMatchObject({ output: '', finishReason: 'stop' })
    model.assertDone()
  })

  test('with only thinking is empty too, and keeps the thinking', async () => {
    const model = scriptedModel([[{ thinking: 'hm' }]])
    const result = await new Agent(model).send('Hi')
    expect(result.messages[1]).toEqual({ role: 'model', parts: [], metadata: { thinking: 'hm' } })
    model.assertDone()
  })
})

describe('17: thinking', () => {
  test('is shown as metadata deltas and stored once, never as text or as a part', async () => {
    const model = scriptedModel([[{ thinking: 'Let ' }, { thinking: 'me.' }, { text: 'Yes' }]])
    const chunks = await collect(new Agent(model).sendStream('Hi'))
    expect(chunks.map(brief)).toEqual([
      'user',
      { metadata: { thinking: 'Let ' } },
      { metadata: { thinking: 'me.' } },
      { text: 'Yes' },
      'model',
      { finishReason: 'stop' },
    ])
    expect(chunks.at(-2)).toMatchObject({
      metadata: {},
      messages: [modelMessage('Yes', { thinking: 'Let me.' })],
    })
  })

  test('of all steps is joined in the result of send', async () => {
    const model = scriptedModel([
      [{ thinking: 'one ' }, { toolCall: { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } } }],
      [{ thinking: 'two' }, { text: 'ok' }],
    ])
    const result = await new Agent(model, { tools: [weather] }).send('Go')
    expect(result.metadata).toEqual({ thinking: 'one two' })
    expect(result.messages.map(({ metadata }) => metadata?.thinking)).toEqual([
      undefined,
      'one ',
      undefined,
      'two',
    ])
  })

  test('opaque data is kept on the message under its protocol and never shown', async () => {
    const opaque = { type: 'opaque' as const, protocol: 'anthropic', data: { signature: 's3' } }
    const model = scriptedModel([[{ text: 'Yes' }, { deltas: [opaque] }]])
    const chunks = await collect(new Agent(model).sendStream('Hi'))
    expect(chunks.map(({ metadata }) => metadata)).toEqual([{}, {}, {}, {}])
    expect(chunks.at(-2)?.messages).toEqual([modelMessage('Yes', { anthropic: { signature: 's3' } })])
  })
})

test('one read with very many deltas is taken in parts: emitting them takes linear time', async () => {
  const texts = Array.from({ length: 2_500 }, (_, n) => ({ type: 'text', text: `${n} ` }) as const)
  const parts: number[] = []
  const agent = new Agent(scriptedModel([[{ deltas: texts }]]), {
    inspect: (event) => {
      if (event.type === '@xstate.event' && event.event.type === 'model.deltas')
        parts.push(event.event.deltas.length)
    },
  })
  const chunks = await collect(agent.sendStream('Count'))
  expect(parts.slice(0, 3)).toEqual([1000, 1000, 500])
  expect(chunks.map(({ output }) => output).filter((output) => output !== '')).toEqual(
    texts.map(({ text }) => text),
  )
})
