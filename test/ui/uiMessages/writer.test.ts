/** The chunks of the AI SDK for each event of a turn, in order, for each version of the client. */
import { describe, expect, test } from 'vitest'
import { AbortedError, ModelError } from '../../../src/messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../../../src/messages/messages.ts'
import type { FinishReason, PendingCall } from '../../../src/messages/result.ts'
import type { TurnEvent } from '../../../src/ui/turn.ts'
import type { UiChunk } from '../../../src/ui/uiMessages/messages.ts'
import { UiMessageWriter, type UiWriterOptions } from '../../../src/ui/uiMessages/writer.ts'

const writerWith = (options: Partial<UiWriterOptions>) => {
  const chunks: UiChunk[] = []
  const writer = new UiMessageWriter({
    send: (chunk) => void chunks.push(structuredClone(chunk)),
    clientVersion: 7,
    messageId: undefined,
    decisions: {},
    showError: (error) => `shown: ${(error as Error).message}`,
    ...options,
  })
  return { writer, chunks }
}

const written = (events: readonly TurnEvent[], options: Partial<UiWriterOptions> = {}): UiChunk[] => {
  const { writer, chunks } = writerWith(options)
  for (const event of events) writer.onEvent(event)
  return chunks
}

const text = (value: string): TurnEvent => ({ type: 'text', text: value })
const thinking = (value: string): TurnEvent => ({ type: 'thinking', text: value })
const call = (id: string, over: Partial<ToolCallPart> = {}): ToolCallPart => ({
  type: 'toolCall',
  id,
  name: 'look',
  arguments: { at: id },
  ...over,
})
const pending = (id: string, kind: PendingCall['kind'], over: Partial<PendingCall> = {}): PendingCall => ({
  ...call(id),
  kind,
  ...over,
})
const answer = (...calls: ToolCallPart[]): TurnEvent => ({
  type: 'answer',
  message: { role: 'model', parts: [{ type: 'text', text: 'I look.' }, ...calls] },
})
const result = (id: string, over: Partial<ToolResultPart> = {}): TurnEvent => ({
  type: 'result',
  result: { type: 'toolResult', id, name: 'look', result: 'seen', ...over },
})
const available = (id: string): UiChunk => ({
  type: 'tool-input-available',
  toolCallId: id,
  toolName: 'look',
  input: { at: id },
})
const step = { type: 'start-step' } as const
const stepEnd = { type: 'finish-step' } as const
const finish = (finishReason: string) => ({ type: 'finish', finishReason })

describe('a message', () => {
  test('begins with the id of its run, or continues that of the client', () => {
    const begin: TurnEvent = { type: 'begin', runId: 'r1' }
    expect(written([begin])).toStrictEqual([{ type: 'start', messageId: 'r1' }])
    expect(written([begin], { messageId: 'm1' })).toStrictEqual([{ type: 'start', messageId: 'm1' }])
  })

  test('that continues shows what was decided on calls of sub-agents, and of no others', () => {
    const decisions = {
      'p/c1': { approve: true },
      'p/c2': { approve: false, reason: 'no' },
      'p/c3': { result: 'x' },
      'p/c4': true,
      c5: { approve: true },
    }
    const begin: TurnEvent[] = [{ type: 'begin', runId: 'r1' }]
    const start = { type: 'start', messageId: 'm1' }
    const yes = { type: 'tool-output-available', toolCallId: 'p/c1', output: 'approved' }
    expect(written(begin, { messageId: 'm1', decisions })).toStrictEqual([
      start,
      yes,
      { type: 'tool-output-denied', toolCallId: 'p/c2' },
    ])
    expect(written(begin, { messageId: 'm1', decisions, clientVersion: 5 })).toStrictEqual([
      start,
      yes,
      { type: 'tool-output-error', toolCallId: 'p/c2', errorText: 'rejected' },
    ])
  })

  test('has parts of text and thinking, each with its own id, in one step', () => {
    expect(written([text('a'), text('b'), thinking('c'), text('d'), answer()])).toStrictEqual([
      step,
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'a' },
      { type: 'text-delta', id: 'text-1', delta: 'b' },
      { type: 'text-end', id: 'text-1' },
      { type: 'reasoning-start', id: 'reasoning-2' },
      { type: 'reasoning-delta', id: 'reasoning-2', delta: 'c' },
      { type: 'reasoning-end', id: 'reasoning-2' },
      { type: 'text-start', id: 'text-3' },
      { type: 'text-delta', id: 'text-3', delta: 'd' },
      { type: 'text-end', id: 'text-3' },
      stepEnd,
    ])
  })

  test('shows states and the progress of calls as data, outside of steps', () => {
    expect(
      written([
        { type: 'state', state: 'ToolExecution' },
        { type: 'progress', callId: 'c1', value: { percent: 50 } },
      ]),
    ).toStrictEqual([
      { type: 'data-state', id: 'state', data: { state: 'ToolExecution' } },
      { type: 'data-progress', id: 'c1', data: { percent: 50 } },
    ])
  })

  const deltasOf = (chunks: readonly UiChunk[]) =>
    chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))

  test('has a newline that sets text off from results only where there is no other part between', () => {
    expect(deltasOf(written([text('\na')]))).toStrictEqual(['\na'])
    expect(deltasOf(written([text('\n\na'), text('\nb')], { messageId: 'm1' }))).toStrictEqual(['\na', '\nb'])
    expect(deltasOf(written([text('a'), text('\nb')], { messageId: 'm1' }))).toStrictEqual(['a', '\nb'])
    expect(deltasOf(written([result('c1'), text('\na'), text('\nb')]))).toStrictEqual(['a', '\nb'])
    expect(deltasOf(written([result('c1'), text('a\nb')]))).toStrictEqual(['a\nb'])
  })

  test('has no part for text that is nothing but that newline', () => {
    expect(written([text('\n'), text('\nb')], { messageId: 'm1' })).toStrictEqual([
      step,
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: '\nb' },
    ])
  })
})

describe('a call', () => {
  const piece = (index: number, over: { id?: string; name?: string }, pieces = ''): TurnEvent => ({
    type: 'callDelta',
    index,
    arguments: pieces,
    ...over,
  })
  const inputStart = (id: string) => ({ type: 'tool-input-start', toolCallId: id, toolName: 'look' })
  const inputDelta = (id: string, delta: string) => ({
    type: 'tool-input-delta',
    toolCallId: id,
    inputTextDelta: delta,
  })
  const notCompleted = (id: string) => ({
    type: 'tool-input-error',
    toolCallId: id,
    toolName: 'look',
    input: '',
    errorText: 'This call was not completed.',
  })

  test('is shown piece by piece, then whole', () => {
    const events = [
      text('I look.'),
      piece(0, { id: 'c1', name: 'look' }),
      piece(0, {}, '{"at":'),
      piece(0, { id: 'other', name: 'other' }, '"c1"}'),
      answer(call('c1')),
    ]
    expect(written(events)).toStrictEqual([
      step,
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'I look.' },
      { type: 'text-end', id: 'text-1' },
      inputStart('c1'),
      inputDelta('c1', '{"at":'),
      inputDelta('c1', '"c1"}'),
      available('c1'),
    ])
  })

  test('is shown once its id and its name are known', () => {
    const named = [piece(0, { id: 'c1' }, 'lost'), piece(0, { name: 'look' }, '{'), piece(0, {}, '}')]
    expect(written(named)).toStrictEqual([
      step,
      inputStart('c1'),
      inputDelta('c1', '{'),
      inputDelta('c1', '}'),
    ])
    expect(written([piece(0, { name: 'look' }, '{'), piece(0, {}, '}')])).toStrictEqual([])
    expect(written([piece(0, { id: 'c1' }, '{'), piece(0, {}, '}')])).toStrictEqual([])
  })

  test('and another one may come in turns', () => {
    const events = [
      piece(0, { id: 'c1', name: 'look' }),
      piece(1, { id: 'c2', name: 'look' }),
      piece(0, {}, '{}'),
      piece(1, {}, '[]'),
      answer(call('c1'), call('c2')),
    ]
    expect(written(events)).toStrictEqual([
      step,
      inputStart('c1'),
      inputStart('c2'),
      inputDelta('c1', '{}'),
      inputDelta('c2', '[]'),
      available('c1'),
      available('c2'),
    ])
  })

  test('under an id that is already used is shown whole only', () => {
    const events = [
      piece(0, { id: 'c1', name: 'look' }),
      piece(1, { id: 'c1', name: 'look' }, '{}'),
      answer(call('c1'), call('c2')),
    ]
    expect(written(events)).toStrictEqual([step, inputStart('c1'), available('c1'), available('c2')])
    const later = [answer(call('c1')), result('c1'), piece(0, { id: 'c1', name: 'look' }, '{}')]
    expect(written(later).slice(-1)).toStrictEqual([
      { type: 'tool-output-available', toolCallId: 'c1', output: 'seen' },
    ])
  })

  test('of which only pieces came is ended as an error, once', () => {
    const begun = [piece(0, { id: 'c1', name: 'look' }), piece(1, { id: 'c2', name: 'look' }), piece(2, {})]
    const shown = [step, inputStart('c1'), inputStart('c2')]
    expect(written([...begun, answer(call('c2')), answer(call('c3'))])).toStrictEqual([
      ...shown,
      notCompleted('c1'),
      available('c2'),
      available('c3'),
    ])
    expect(written([...begun, answer()])).toStrictEqual([
      ...shown,
      notCompleted('c1'),
      notCompleted('c2'),
      stepEnd,
    ])
  })

  test('whose arguments cannot be read is an error, with what came of them', () => {
    const broken = call('c1', { arguments: {}, argumentsError: 'no JSON', argumentsRaw: '{"a' })
    const { argumentsRaw: _, ...bare } = broken
    const error = { type: 'tool-input-error', toolCallId: 'c1', toolName: 'look', errorText: 'no JSON' }
    expect(written([answer(broken)])).toStrictEqual([step, { ...error, input: '{"a' }])
    expect(written([answer(bare)])).toStrictEqual([step, { ...error, input: '' }])
  })

  test('ends in its result, once, and what follows is another step', () => {
    const events = [
      answer(call('c1'), call('c2')),
      result('c1', { result: '{"celsius":21}' }),
      result('c2', { parts: [{ type: 'data', mimeType: 'image/png', data: 'AAAA' }] }),
      result('c1'),
      thinking('Hm.'),
      answer(),
    ]
    expect(written(events)).toStrictEqual([
      step,
      available('c1'),
      available('c2'),
      { type: 'tool-output-available', toolCallId: 'c1', output: { celsius: 21 } },
      {
        type: 'tool-output-available',
        toolCallId: 'c2',
        output: { result: 'seen', parts: [{ type: 'data', mimeType: 'image/png', data: 'AAAA' }] },
      },
      stepEnd,
      step,
      { type: 'reasoning-start', id: 'reasoning-1' },
      { type: 'reasoning-delta', id: 'reasoning-1', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'reasoning-1' },
      stepEnd,
    ])
  })

  test.each([
    [5, { type: 'tool-output-error', toolCallId: 'c2', errorText: 'too far' }],
    [6, { type: 'tool-output-denied', toolCallId: 'c2' }],
    [7, { type: 'tool-output-denied', toolCallId: 'c2' }],
  ] as const)('that failed or was rejected says so to ai %i', (clientVersion, denied) => {
    const events = [
      result('c1', { result: '{"error":"no paper"}', isError: true }),
      result('c2', { result: '{"error":"too far"}', isError: true, rejected: true }),
      result('c3', { result: 'plain', isError: true }),
    ]
    expect(written(events, { clientVersion })).toStrictEqual([
      { type: 'tool-output-error', toolCallId: 'c1', errorText: 'shown: no paper' },
      denied,
      { type: 'tool-output-error', toolCallId: 'c3', errorText: 'shown: plain' },
    ])
  })

  test('and text are ended when the answer starts over', () => {
    const events: TurnEvent[] = [
      piece(0, { id: 'c1', name: 'look' }),
      text('Wrong'),
      { type: 'restart' },
      text('Right'),
      piece(0, { id: 'c2', name: 'look' }),
    ]
    expect(written(events)).toStrictEqual([
      step,
      inputStart('c1'),
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'Wrong' },
      { type: 'text-end', id: 'text-1' },
      notCompleted('c1'),
      { type: 'data-restart', data: {}, transient: true },
      { type: 'text-start', id: 'text-2' },
      { type: 'text-delta', id: 'text-2', delta: 'Right' },
      { type: 'text-end', id: 'text-2' },
      inputStart('c2'),
    ])
  })
})

describe('a turn that waits', () => {
  const waits = (...calls: PendingCall[]): TurnEvent => ({ type: 'waits', calls })
  const request = (id: string, over: object = {}) => ({
    type: 'tool-approval-request',
    approvalId: id,
    toolCallId: id,
    ...over,
  })
  const data = (id: string, over: object = {}) => ({
    type: 'data-approval',
    id: `approval-${id}`,
    data: { toolCallId: id, toolName: 'look', input: { at: id }, ...over },
  })
  const reason = 'It was running when its process ended: approve it to run it again.'
  const end = [stepEnd, finish('tool-calls')]

  test('asks for approvals, in the way of each version', () => {
    const events = [
      answer(call('c1'), call('c2')),
      waits(pending('c1', 'approval'), pending('c2', 'approval', { inDoubt: true })),
    ]
    const shown = [step, available('c1'), available('c2')]
    for (const clientVersion of [6, 7] as const)
      expect(written(events, { clientVersion })).toStrictEqual([
        ...shown,
        request('c1'),
        request('c2', { reason }),
        ...end,
      ])
    expect(written(events, { clientVersion: 5 })).toStrictEqual([
      ...shown,
      data('c1'),
      data('c2', { reason }),
      ...end,
    ])
  })

  test('sends the questions of version 5 with the message, whose parts have no place for them', () => {
    const events = [answer(call('c1')), waits(pending('c1', 'approval', { question: 'q1' }))]
    const last = (clientVersion: 5 | 6 | 7) => JSON.stringify(written(events, { clientVersion }).at(-1))
    expect(last(5)).toContain('"questions":{"c1":"q1"}')
    expect(last(7)).not.toContain('questions')
  })

  test('for an answer of the page ends with the call', () => {
    expect(written([answer(call('c1')), waits(pending('c1', 'answer'))])).toStrictEqual([
      step,
      available('c1'),
      ...end,
    ])
  })

  test('shows a call of a sub-agent, and a question about a limit, which the page has not seen', () => {
    const events = [
      answer(call('p')),
      waits(pending('p/c1', 'approval'), pending('limit-1', 'limit'), pending('x', 'approval')),
      waits(pending('p/c1', 'approval')),
    ]
    expect(written(events, { clientVersion: 6 })).toStrictEqual([
      step,
      available('p'),
      { ...available('p'), providerExecuted: true },
      available('p/c1'),
      request('p/c1'),
      available('limit-1'),
      request('limit-1'),
      request('x'),
      ...end,
      { ...available('p'), providerExecuted: true },
      request('p/c1'),
      finish('tool-calls'),
    ])
    expect(written([waits(pending('limit-1', 'limit'))])).toStrictEqual([
      step,
      available('limit-1'),
      request('limit-1'),
      ...end,
    ])
  })

  const aside = { ...available('c1'), providerExecuted: true }
  const automatic = [
    request('c1', { isAutomatic: true }),
    { type: 'tool-approval-response', approvalId: 'c1', approved: true },
  ]
  const besides = [
    answer(call('c1'), call('c2'), call('c3', { argumentsError: 'no JSON' }), call('c4')),
    result('c4'),
  ]

  test.each([
    [5, [data('c2')], [aside]],
    [6, [request('c2')], [aside]],
    [7, [request('c2')], [aside, ...automatic]],
  ] as const)('shows ai %i the calls that need no decision as settled', (clientVersion, asked, settled) => {
    const events = [...besides, waits(pending('c2', 'approval'))]
    expect(written(events, { clientVersion }).slice(6)).toStrictEqual([...settled, ...asked, ...end])
  })

  test('for the page and for an approval has approvals of the calls that need none', () => {
    const events = [...besides, waits(pending('c2', 'answer'), pending('p/c5', 'approval'))]
    expect(written(events, { clientVersion: 7 }).slice(6, 9)).toStrictEqual([aside, ...automatic])
  })

  test('for the page alone has no approvals of other calls', () => {
    const events = [...besides, waits(pending('c2', 'answer'))]
    expect(written(events, { clientVersion: 7 }).slice(6)).toStrictEqual([aside, ...end])
  })
})

describe('a turn ends', () => {
  const reasons: Record<FinishReason, string> = {
    stop: 'stop',
    length: 'length',
    maxSteps: 'length',
    limit: 'length',
    contentFilter: 'content-filter',
    toolCalls: 'tool-calls',
    error: 'error',
    aborted: 'other',
    unspecified: 'other',
  }
  test.each(Object.entries(reasons))('with the reason %s as %s', (finishReason, shown) => {
    expect(written([{ type: 'end', finishReason: finishReason as FinishReason }])).toStrictEqual([
      finish(shown),
    ])
  })

  test('with its usage, after its open part and step', () => {
    const usage = { inputTokens: 5, outputTokens: 7, cost: 0.1 }
    expect(written([text('a'), { type: 'end', finishReason: 'stop', usage }]).slice(3)).toStrictEqual([
      { type: 'text-end', id: 'text-1' },
      stepEnd,
      { type: 'finish', finishReason: 'stop', messageMetadata: { usage } },
    ])
  })

  test.each([
    [new ModelError('out of paper'), { type: 'error', errorText: 'shown: out of paper' }],
    [new AbortedError('the user'), { type: 'abort' }],
  ])('when it breaks: %s', (error, end) => {
    const { writer, chunks } = writerWith({})
    writer.onEvent(text('a'))
    writer.fail(error)
    expect(chunks.slice(3)).toStrictEqual([{ type: 'text-end', id: 'text-1' }, end])
    const { writer: idle, chunks: few } = writerWith({})
    idle.fail(error)
    expect(few).toStrictEqual([end])
  })
})
