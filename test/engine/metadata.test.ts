import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { collect, endOf, idle, watch } from './watching.ts'

const agentOf = (turns: ScriptTurn[]) => new Agent(scriptedModel(turns), { tools: [recorder().tool] })

const shown = async (turns: ScriptTurn[]) =>
  (await collect(agentOf(turns).sendStream('Go')))
    .map(({ metadata }) => metadata)
    .filter((metadata) => Object.keys(metadata).length > 0)

describe('15: metadata', () => {
  test('is passed through once, on the chunk that brought it', async () => {
    expect(await shown([[{ metadata: { region: 'eu' } }, { text: 'a' }]])).toEqual([{ region: 'eu' }])
  })

  test('that is repeated is not shown again, neither in the message nor in a later step', async () => {
    const turns: ScriptTurn[] = [
      [
        { metadata: { region: 'eu' } },
        { metadata: { region: 'eu' } },
        { toolCall: { id: 'a', name: 'echo' } },
      ],
      [{ metadata: { region: 'eu' } }, { text: 'ok' }],
    ]
    expect(await shown(turns)).toEqual([{ region: 'eu' }])
  })

  test('that changes is shown with its new value only', async () => {
    const turns: ScriptTurn[] = [
      [{ metadata: { region: 'eu', tier: 1 } }, { metadata: { region: 'us', tier: 1 } }, { text: 'ok' }],
    ]
    expect(await shown(turns)).toEqual([{ region: 'eu', tier: 1 }, { region: 'us' }])
    expect((await agentOf(turns).send('Go')).metadata).toEqual({ region: 'us', tier: 1 })
  })

  test('lists show only their new items, and send gives the full list over all steps', async () => {
    const turns: ScriptTurn[] = [
      [
        { metadata: { serverTools: [{ id: 1 }] } },
        { metadata: { serverTools: [{ id: 1 }, { id: 2 }] } },
        { toolCall: { id: 'a', name: 'echo' } },
      ],
      [{ metadata: { serverTools: [{ id: 3 }] } }, { text: 'ok' }],
    ]
    expect(await shown(turns)).toEqual([
      { serverTools: [{ id: 1 }] },
      { serverTools: [{ id: 2 }] },
      { serverTools: [{ id: 3 }] },
    ])
    const { metadata } = await agentOf(turns).send('Go')
    expect(metadata).toEqual({ serverTools: [{ id: 1 }, { id: 2 }, { id: 3 }] })
  })

  test('a repeated list item is stored on the message once', async () => {
    const turns: ScriptTurn[] = [
      [{ metadata: { citations: ['a'] } }, { metadata: { citations: ['a', 'b'] } }, { text: 'ok' }],
    ]
    const { messages } = await agentOf(turns).send('Go')
    expect(messages[1]?.metadata).toEqual({ citations: ['a', 'b'] })
  })

  test('is absent from the consolidated message chunk and from the final chunk', async () => {
    const chunks = await collect(agentOf([[{ metadata: { region: 'eu' } }, { text: 'a' }]]).sendStream('Go'))
    expect(chunks.slice(-2).map(({ metadata }) => metadata)).toEqual([{}, {}])
    expect(chunks.at(-2)?.messages[0]?.metadata).toEqual({ region: 'eu' })
  })

  test('under the key __proto__ stays plain data', async () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}')
    const { metadata, messages } = await agentOf([[{ metadata: hostile }, { text: 'a' }]]).send('Go')
    expect(Object.keys(metadata)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype)
    expect(Object.keys(messages[1]?.metadata ?? {})).toEqual(['__proto__', 'constructor'])
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

describe('16: usage', () => {
  const twoRounds: ScriptTurn[] = [
    [
      { usage: { inputTokens: 10 } },
      { usage: { inputTokens: 11, outputTokens: 2 } },
      { toolCall: { id: 'a', name: 'echo' } },
    ],
    [{ text: 'ok' }, { usage: { inputTokens: 20, outputTokens: 3, cachedInputTokens: 8 } }],
  ]
  const sum = { inputTokens: 31, outputTokens: 5, cachedInputTokens: 8 }

  test('of each step is in its step event; later counts of one response replace earlier ones', async () => {
    const actor = agentOf(twoRounds).actor({ prompt: 'Go' })
    const { emitted } = watch(actor)
    actor.start()
    await endOf(actor)
    expect(emitted.filter((event) => event.type === 'step')).toMatchObject([
      {
        step: 1,
        usage: { inputTokens: 11, outputTokens: 2 },
        metrics: { chunks: 0, timeToFirstChunkMs: null },
      },
      { step: 2, usage: { inputTokens: 20, outputTokens: 3, cachedInputTokens: 8 }, metrics: { chunks: 1 } },
    ])
  })

  test('is summed, and the stream has exactly one chunk with it: the last', async () => {
    const chunks = await collect(agentOf(twoRounds).sendStream('Go'))
    expect(chunks.map((chunk) => chunk.usage).filter(Boolean)).toEqual([sum])
    expect(chunks.at(-1)?.usage).toEqual(sum)
    expect((await agentOf(twoRounds).send('Go')).usage).toEqual(sum)
  })

  test('that no step reported is absent, and one silent step counts as 0', async () => {
    const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'echo' } }]
    expect(await agentOf([call, 'ok']).send('Go')).not.toHaveProperty('usage')
    const last: ScriptTurn = [{ text: 'ok' }, { usage: { outputTokens: 3 } }]
    expect((await agentOf([call, last]).send('Go')).usage).toEqual({ outputTokens: 3 })
  })

  test('of an empty answer that was silently retried is counted', async () => {
    const turns: ScriptTurn[] = [
      [{ toolCall: { id: 'a', name: 'echo' } }, { usage: { inputTokens: 1 } }],
      [{ usage: { inputTokens: 2 } }],
      [{ text: 'ok' }, { usage: { inputTokens: 4 } }],
    ]
    expect((await agentOf(turns).send('Go')).usage).toEqual({ inputTokens: 7 })
  })
})

describe('a step', () => {
  test('reports its time to the first chunk, its duration and its chunks', async () => {
    const clock = new SimulatedClock()
    const turn: ScriptTurn = [{ delayMs: 30 }, { text: 'a' }, { delayMs: 12 }, { text: 'b' }]
    const actor = new Agent(scriptedModel([turn], { clock }), { clock }).actor({ prompt: 'Go' })
    const { emitted } = watch(actor)
    actor.start()
    for (const ms of [30, 12]) {
      await idle()
      clock.increment(ms)
    }
    await endOf(actor)
    const metrics = { timeToFirstChunkMs: 30, durationMs: 42, chunks: 2 }
    expect(emitted.filter(({ type }) => type === 'step')).toEqual([
      { type: 'step', step: 1, provider: 'scripted', model: 'script', usage: null, metrics },
    ])
  })

  test('emits the pieces of a call while it is written, apart from the chunks', async () => {
    const piece = { type: 'toolDelta' as const, index: 0, id: 'a', name: 'echo', arguments: '{"n"' }
    const actor = agentOf([[{ deltas: [piece] }, { toolCall: { id: 'a', name: 'echo' } }], 'ok']).actor({
      prompt: 'Go',
    })
    const { emitted } = watch(actor)
    actor.start()
    await endOf(actor)
    expect(emitted.filter(({ type }) => type === 'tool.delta')).toEqual([{ ...piece, type: 'tool.delta' }])
  })

  test('keeps generated media as parts after the text', async () => {
    const image = { type: 'data' as const, mimeType: 'image/png', data: 'AP8Q' }
    const { messages } = await agentOf([
      [{ deltas: [{ type: 'part', part: image }] }, { text: 'Here.' }],
    ]).send('Go')
    expect(messages[1]?.parts).toEqual([{ type: 'text', text: 'Here.' }, image])
  })
})

describe('the response id', () => {
  test('of the newest response that has one is the id of the result', async () => {
    const turns: ScriptTurn[] = [
      [{ responseId: 'r1' }, { toolCall: { id: 'a', name: 'echo' } }],
      [{ responseId: 'r2' }, { responseId: 'late' }, { text: 'ok' }],
    ]
    const chunks = await collect(agentOf(turns).sendStream('Go'))
    expect(chunks.map(({ id }) => id)).toEqual(['', 'r1', 'r1', 'r2', 'r2', 'r2'])
  })
})
