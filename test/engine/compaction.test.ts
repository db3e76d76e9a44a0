/** A conversation that no longer fits is made shorter for the model alone. */
import { describe, expect, test } from 'vitest'
import { createActor, waitFor } from 'xstate'
import {
  Agent,
  type ChatMessage,
  ModelError,
  modelMessage,
  textOf,
  tool,
  userMessage,
  validateHistory,
} from '../../src/index.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { anthropic } from '../hostile/anthropicWire.ts'
import { mistral, openai } from '../hostile/chatWire.ts'
import { cohere, google, ollama } from '../hostile/otherWires.ts'
import { overflowRows } from '../hostile/overflowRows.ts'
import { responses } from '../hostile/responsesWire.ts'
import type { Wire } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'
import { long, overflow, ran, talk } from './compactedRuns.ts'
import { idle, rejection } from './watching.ts'

const sizeOf = ({ messages }: ModelRequest): number => JSON.stringify(messages).length

describe('an overflow', () => {
  const wires: readonly Wire[] = [anthropic, openai, mistral, google, ollama, cohere, responses]

  test.each(overflowRows)('as $server says it leads to Compacting, and the run goes on', async (row) => {
    const wire = wires.find(({ model }) => model.split(':')[0] === row.model.split(':')[0]) ?? openai
    const { url, requests } = await loopback(({ body }, nth) => {
      if (nth === 0) return { status: row.status, body: row.body }
      const text = nth === 1 ? 'They talked about lorem ipsum.' : 'Here I am again.'
      expect(body.tools === undefined).toBe(nth === 1)
      return { headers: { 'content-type': wire.contentType }, body: wire.events({ text }).join('') }
    })
    const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
    const agent = new Agent(row.model, { baseUrl: url, apiKey: 'key', tools: [look] })
    const { output, messages } = await agent.send('Go on.', { history: talk })
    expect(output).toBe('Here I am again.')
    expect(requests).toHaveLength(3)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'system', 'model'])
    expect(messages[1]?.metadata?.compaction).toMatchObject({ kind: 'summarised', reason: 'overflow' })
    expect(validateHistory([...talk, ...messages])).toEqual([])
  })

  test('is a failure where compaction is off, and where there is nothing to leave out', async () => {
    const off = await ran([overflow()], { compaction: false })
    expect(off).toMatchObject({ result: { name: 'ModelError', code: 'context_overflow' }, compactions: [] })
    expect(off.requests).toHaveLength(1)
    const short = await ran([overflow()], {}, [])
    expect(short.result).toBeInstanceOf(ModelError)
    expect(short.requests).toHaveLength(1)
  })

  test('right after a compaction is a failure: nothing is gained by another one', async () => {
    const { result, compactions, requests } = await ran([overflow(), 'A summary.', overflow(), 'never'])
    expect(result).toMatchObject({ code: 'context_overflow' })
    expect(compactions).toHaveLength(1)
    expect(requests).toHaveLength(3)
  })
})

describe('what the model sees', () => {
  test('is the summary, and the end of the conversation as it was; the history stays complete', async () => {
    const { result, compactions, requests } = await ran([overflow(), 'They talked.', 'Done.'])
    const [, summary, after] = requests
    expect(summary?.messages).toHaveLength(1)
    expect(textOf(summary?.messages[0] as ChatMessage)).toContain('Question 0')
    // Summary and first message are both the user's word: the model sees one message.
    const [first = '', ...others] = (after?.messages ?? []).map(textOf)
    const [{ kept } = { kept: 0 }] = compactions
    const [firstKept = '', ...otherKept] = [...talk, userMessage('Go on.')].slice(-kept).map(textOf)
    expect(first).toContain('They talked.')
    expect(first.endsWith(firstKept)).toBe(true)
    expect(others).toEqual(otherKept)
    expect(compactions).toMatchObject([{ kind: 'summarised', reason: 'overflow' }])
    const [{ tokensBefore, tokensAfter } = { tokensBefore: 0, tokensAfter: 0 }] = compactions
    expect(tokensAfter).toBeLessThan(tokensBefore / 2)
    const { messages } = result as { messages: ChatMessage[] }
    // A later run in the same conversation sees the same.
    const later = await ran(['Again.'], {}, [...talk, ...messages], 'And now?')
    expect(later.requests[0]?.messages.slice(0, kept).map(textOf)).toEqual([first, ...others])
  })

  test('is without old tool results first, if that is enough', async () => {
    const round = (id: string): ChatMessage[] => [
      modelMessage([{ type: 'toolCall', id, name: 'read', arguments: { id } }]),
      userMessage([{ type: 'toolResult', id, name: 'read', result: `${id} ${'z'.repeat(8000)}` }]),
    ]
    const history = [userMessage('Read all.'), ...['a', 'b', 'c', 'd'].flatMap(round), modelMessage('Read.')]
    const { compactions, requests } = await ran([overflow(), 'Done.'], {}, history)
    expect(compactions).toMatchObject([{ kind: 'cleared' }])
    expect(requests).toHaveLength(2)
    expect(validateHistory(requests[1]?.messages ?? [])).toEqual([])
    expect(JSON.stringify(requests[1]?.messages)).toContain('was cleared to save room')
    expect(JSON.stringify(history)).not.toContain('was cleared')
  })

  test('never has a result without its call', async () => {
    const rounds = Array.from({ length: 12 }, (_, index) => [
      modelMessage([{ type: 'toolCall' as const, id: `${index}`, name: 'read', arguments: {} }]),
      userMessage([
        { type: 'toolResult' as const, id: `${index}`, name: 'read', result: `${index} ${long}` },
      ]),
    ]).flat()
    for (const keepTokens of [0, 100, 500, 1000, 2000, 3000]) {
      const { requests } = await ran([overflow(), 'A summary.', 'Done.'], { compaction: { keepTokens } }, [
        userMessage('Read.'),
        ...rounds,
        modelMessage('Read.'),
      ])
      for (const { messages } of requests) expect(validateHistory(messages)).toEqual([])
    }
  })

  test('does not hang on a response that a provider has stored', async () => {
    let nth = 0
    const { url, requests } = await loopback(() => {
      nth += 1
      if (nth === 2) return { status: 400, body: { error: { code: 'context_length_exceeded', message: '' } } }
      const text = nth === 3 ? 'A summary.' : `Answer ${nth}. ${long}`
      return { body: responses.events({ text }).join('') }
    })
    const agent = new Agent('openai-responses:m', { baseUrl: url, apiKey: 'key' })
    const first = await agent.send(`First. ${long}`, { history: talk })
    await agent.send('Second.', { history: [...talk, ...first.messages] })
    const [, chained, , fresh] = requests.map(({ body }) => body)
    expect(chained?.previous_response_id).toBe('resp_1')
    expect(fresh?.previous_response_id).toBeUndefined()
    expect(JSON.stringify(fresh?.input)).toContain('A summary.')
  })
})

describe('a summary', () => {
  test('that is itself too long is asked for of half, and of half of that', async () => {
    const { result, requests } = await ran([overflow(), overflow(), overflow(), 'A summary.', 'Done.'])
    expect(result).toMatchObject({ answer: 'Done.' })
    const [, whole = 0, half = 0, quarter = 0] = requests.map(sizeOf)
    expect(half).toBeLessThan(whole * 0.7)
    expect(quarter).toBeLessThan(half * 0.7)
    expect(JSON.stringify(requests[3]?.messages)).toContain('earlier messages are left out')
  })

  test('that stays too long to the end is a failure', async () => {
    const { result, requests } = await ran(Array.from({ length: 20 }, () => overflow()))
    expect(result).toMatchObject({ code: 'context_overflow' })
    expect(requests.length).toBeLessThan(8)
  })

  test('that fails for a moment, or is empty, is asked for again, and its tokens count', async () => {
    const busy: ScriptTurn = [{ error: { message: 'busy', retryable: true } }]
    const summary: ScriptTurn = [{ text: 'A summary.' }, { usage: { inputTokens: 70, outputTokens: 7 } }]
    const { result } = await ran([overflow(), busy, summary, 'Done.'])
    expect(result).toMatchObject({ answer: 'Done.', usage: { inputTokens: 70, outputTokens: 7 } })
    expect((await ran([overflow(), [], summary, 'Done.'])).result).toMatchObject({ answer: 'Done.' })
    const { result: failed } = await ran([overflow(), [], [], 'never'])
    expect(failed).toMatchObject({ name: 'ModelError', code: 'no_summary' })
  })

  test('that is longer than what it replaces never takes its place', async () => {
    const { result, compactions } = await ran([overflow(), long.repeat(40), 'never'])
    expect(result).toMatchObject({
      name: 'ModelError',
      message: expect.stringMatching(/did not make it shorter/),
    })
    expect(compactions).toEqual([])
  })

  test('comes from the model that is named for it, with your instructions', async () => {
    const writer = scriptedModel(['A short one.'])
    const { result, requests } = await ran([overflow(), 'Done.'], {
      compaction: { model: writer, instructions: 'Be very brief.' },
    })
    expect(result).toMatchObject({ answer: 'Done.' })
    expect(requests).toHaveLength(2)
    expect(textOf(writer.requests[0]?.messages[0] as ChatMessage)).toMatch(/^Be very brief\./)
  })
})

test('a window that is known is not exceeded', async () => {
  const { compactions, requests } = await ran(['A summary.', 'Done.'], { compaction: { window: 4000 } })
  expect(compactions).toMatchObject([{ reason: 'full' }])
  expect(requests).toHaveLength(2)
  const table = scriptedModel(['A summary.', 'Done.'], { profile: { window: 4000 } })
  await new Agent(table, { compaction: {} }).send('Go on.', { history: talk })
  expect(table.requests).toHaveLength(2)
  const unasked = scriptedModel(['Done.'], { profile: { window: 4000 } })
  await new Agent(unasked).send('Go on.', { history: talk })
  expect(unasked.requests).toHaveLength(1)
})

test('room for the answer is kept free, also where the agent says how long it may be', async () => {
  const table = (turns: ScriptTurn[]) => scriptedModel(turns, { profile: { window: 12_000 } })
  const without = table(['Done.'])
  await new Agent(without, { compaction: {} }).send('Go on.', { history: talk })
  expect(without.requests).toHaveLength(1)
  const kept = table(['A summary.', 'Done.'])
  await new Agent(kept, { compaction: {}, maxOutputTokens: 6000 }).send('Go on.', { history: talk })
  expect(kept.requests).toHaveLength(2)
})

test('a server that throws away the front of a request without a word is found out by its count', async () => {
  const read = tool({ name: 'read', description: 'Reads', execute: () => 'w'.repeat(4000) })
  const call = (id: string, inputTokens: number): ScriptTurn => [
    { toolCall: { id, name: 'read' } },
    { usage: { inputTokens } },
  ]
  // Twice as long as before, and half the tokens.
  const turns = [call('a', 500), call('b', 1700), call('c', 1100), 'A summary.', 'Done.']
  const { result, compactions } = await ran(turns, { tools: [read], compaction: {} }, [])
  expect(result).toMatchObject({ answer: 'Done.' })
  expect(compactions).toMatchObject([{ reason: 'overflow' }])
})

test('a threshold below what no compaction can shrink is no reason to try', async () => {
  const { result, requests } = await ran(['Done.'], { compaction: { window: 100 }, system: long }, [])
  expect(result).toMatchObject({ answer: 'Done.' })
  expect(requests).toHaveLength(1)
})

test.each([
  ['compacts before the next answer', {}, ['command']],
  ['changes nothing where compaction is off', { compaction: false } as const, []],
])('a command %s', async (_, options, expected) => {
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
  const turns: ScriptTurn[] = [[{ delayMs: 20 }, { toolCall: { id: 'a', name: 'look' } }]]
  const model = scriptedModel([...turns, ...expected.map(() => 'A summary.'), 'Done.'])
  const actor = createActor(new Agent(model, { tools: [look], ...options }).machine, {
    input: { prompt: 'Go on.', history: talk },
  })
  const reasons: string[] = []
  actor.on('compaction', ({ reason }) => reasons.push(reason))
  actor.start()
  actor.send({ type: 'compact' })
  await waitFor(actor, ({ status }) => status === 'done')
  expect(reasons).toEqual(expected)
  model.assertDone()
})

test('three compactions within six steps are a limit', async () => {
  const fill = tool({ name: 'fill', description: 'Fills', execute: () => 'q'.repeat(9000) })
  const turn = (id: number): ScriptTurn => [{ toolCall: { id: `c${id}`, name: 'fill' } }]
  const turns = Array.from({ length: 10 }, (_, index) => [turn(index), 'A summary.' as ScriptTurn]).flat()
  const { result, compactions } = await ran(['A summary.', ...turns], {
    tools: [fill],
    compaction: { window: 3000 },
  })
  expect(result).toMatchObject({ finishReason: 'limit' })
  expect(compactions).toHaveLength(3)
  const { messages } = result as { messages: ChatMessage[] }
  expect(validateHistory([...talk, ...messages])).toEqual([])
})

test('a run that is aborted while it waits for a summary ends at once, and closes the connection', async () => {
  let closed = 0
  const scripted = scriptedModel([overflow(), [{ hang: true }]])
  const model = {
    ...scripted,
    stream: (...args: Parameters<typeof scripted.stream>) => {
      const close = scripted.stream(...args)
      return () => {
        closed += 1
        close()
      }
    },
  }
  const run = new Agent(model).start('Go on.', { history: talk })
  run.result.catch(() => {})
  await idle(10)
  expect(run.state).toBe('Compacting')
  run.abort('enough')
  const error = await rejection(run.result, Error)
  expect(error).toMatchObject({ name: 'AbortedError' })
  expect(closed).toBe(2)
})
