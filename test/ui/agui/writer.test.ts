/** The events of AG-UI for each event of a turn, in order. */
import { describe, expect, test } from 'vitest'
import { AbortedError, ModelError } from '../../../src/messages/errors.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../../src/messages/messages.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import { AguiWriter } from '../../../src/ui/agui/writer.ts'
import type { TurnEvent } from '../../../src/ui/turn.ts'
import { numberedIds } from '../numberedIds.ts'

const prompt = { id: 'u1', role: 'user', content: 'hi' }

const written = (
  events: readonly TurnEvent[],
  { messages = [prompt], broken }: { messages?: JsonObject[]; broken?: unknown } = {},
): JsonObject[] => {
  const sent: JsonObject[] = []
  const writer = new AguiWriter({
    send: (event) => void sent.push(structuredClone(event)),
    threadId: 't1',
    runId: 'r1',
    messages,
    showError: (error) => `shown: ${(error as Error).message}`,
  })
  for (const event of events) writer.onEvent(event)
  if (broken) writer.fail(broken)
  return numberedIds(sent)
}

const text = (value: string): TurnEvent => ({ type: 'text', text: value })
const thinking = (value: string): TurnEvent => ({ type: 'thinking', text: value })
const call = (id: string): ToolCallPart => ({ type: 'toolCall', id, name: 'look', arguments: { at: id } })
const pending = (id: string, kind: PendingCall['kind'], over: Partial<PendingCall> = {}): PendingCall => ({
  ...call(id),
  kind,
  ...over,
})
const answer = (said: string, ...calls: ToolCallPart[]): TurnEvent => ({
  type: 'answer',
  message: { role: 'model', parts: [{ type: 'text', text: said }, ...calls] },
})
const result = (id: string, over: Partial<ToolResultPart> = {}): TurnEvent => ({
  type: 'result',
  result: { type: 'toolResult', id, name: 'look', result: 'seen', ...over },
})
const waits = (...calls: PendingCall[]): TurnEvent => ({ type: 'waits', calls })

const textStart = (messageId: string) => ({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
const textDelta = (messageId: string, delta: string) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })
const textEnd = (messageId: string) => ({ type: 'TEXT_MESSAGE_END', messageId })
const thoughtStart = (messageId: string) => [
  { type: 'REASONING_START', messageId },
  { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
]
const thoughtDelta = (messageId: string, delta: string) => ({
  type: 'REASONING_MESSAGE_CONTENT',
  messageId,
  delta,
})
const thoughtEnd = (messageId: string) => [
  { type: 'REASONING_MESSAGE_END', messageId },
  { type: 'REASONING_END', messageId },
]
const shownCall = (toolCallId: string, parent?: string) => [
  {
    type: 'TOOL_CALL_START',
    toolCallId,
    toolCallName: 'look',
    ...(parent && { parentMessageId: parent }),
  },
  { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify({ at: toolCallId }) },
  { type: 'TOOL_CALL_END', toolCallId },
]
const shownResult = (messageId: string, toolCallId: string, content: unknown = 'seen') => ({
  type: 'TOOL_CALL_RESULT',
  messageId,
  toolCallId,
  content,
  role: 'tool',
})
const finished = (outcome: object, over: object = {}) => ({
  type: 'RUN_FINISHED',
  threadId: 't1',
  runId: 'r1',
  outcome,
  ...over,
})
const snapshot = (...messages: object[]) => ({ type: 'MESSAGES_SNAPSHOT', messages: [prompt, ...messages] })

describe('a run', () => {
  test('begins with the ids of the client, and shows states and progress as custom events', () => {
    expect(
      written([
        { type: 'begin', runId: 'ours' },
        { type: 'state', state: 'ToolExecution' },
        { type: 'progress', callId: 'c1', value: { percent: 50 } },
        { type: 'callDelta', index: 0, arguments: '{' },
      ]),
    ).toStrictEqual([
      { type: 'RUN_STARTED', threadId: 't1', runId: 'r1', protocolVersion: '1.0' },
      { type: 'CUSTOM', name: 'state', value: { state: 'ToolExecution' } },
      { type: 'CUSTOM', name: 'progress', value: { toolCallId: 'c1', value: { percent: 50 } } },
    ])
  })

  test('shows thinking and text as messages, each begun and ended once', () => {
    const events = [thinking('H'), thinking('m.'), text('a'), text('b'), answer('ab'), text('c')]
    expect(written(events)).toStrictEqual([
      ...thoughtStart('#1'),
      thoughtDelta('#1', 'H'),
      thoughtDelta('#1', 'm.'),
      ...thoughtEnd('#1'),
      textStart('#2'),
      textDelta('#2', 'a'),
      textDelta('#2', 'b'),
      textEnd('#2'),
      textStart('#3'),
      textDelta('#3', 'c'),
    ])
  })

  test('shows calls in the message of their answer, and their results once', () => {
    const events = [
      text('I look.'),
      answer('I look.', call('c1'), call('c2')),
      result('c1'),
      result('c2', { result: '{"error":"no"}', isError: true }),
      result('c1'),
      text('\nThere.'),
      answer('There.'),
      answer('', call('c3')),
    ]
    expect(written(events)).toStrictEqual([
      textStart('#1'),
      textDelta('#1', 'I look.'),
      textEnd('#1'),
      ...shownCall('c1', '#1'),
      ...shownCall('c2', '#1'),
      shownResult('#2', 'c1'),
      shownResult('#3', 'c2', '{"error":"shown: no"}'),
      textStart('#4'),
      textDelta('#4', 'There.'),
      textEnd('#4'),
      ...shownCall('c3', '#5'),
    ])
  })

  test('does not show a result that the client has given', () => {
    const messages = [prompt, { id: 'x', role: 'tool', toolCallId: 'c1', content: 'Oslo' }]
    expect(written([result('c1'), result('c2')], { messages })).toStrictEqual([shownResult('#1', 'c2')])
  })

  const deltasOf = (events: TurnEvent[], messages = [prompt]) =>
    written(events, { messages }).flatMap(({ delta }) => (delta === undefined ? [] : [delta]))

  test('has a newline that sets text off from results only where a message does not separate them', () => {
    const resumed = [prompt, { id: 'a1', role: 'assistant', content: 'I ask.' }]
    expect(deltasOf([text('\na')])).toStrictEqual(['\na'])
    expect(deltasOf([text('\n\na'), text('\nb')], resumed)).toStrictEqual(['\na', '\nb'])
    expect(deltasOf([text('a'), text('\nb')], resumed)).toStrictEqual(['a', '\nb'])
    expect(deltasOf([result('c1'), text('\na'), text('\nb')])).toStrictEqual(['a', '\nb'])
    expect(deltasOf([result('c1'), text('a\nb')])).toStrictEqual(['a\nb'])
    expect(deltasOf([text('\n'), text('\nb')], resumed)).toStrictEqual(['\nb'])
    expect(deltasOf([text('\na')], [])).toStrictEqual(['a'])
  })

  const image = { type: 'data', mimeType: 'image/png', data: 'AAAA' } as const
  test.each<[string, Partial<ToolResultPart>, unknown]>([
    ['text', {}, 'seen'],
    [
      'an image',
      { result: '', parts: [image] },
      [{ type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } }],
    ],
    [
      'text and media of every kind',
      {
        parts: [
          { ...image, mimeType: 'audio/wav' },
          { ...image, mimeType: 'video/mp4' },
          { type: 'link', url: 'https://example.com/a.pdf', mimeType: 'application/pdf' },
          { type: 'link', url: 'https://example.com/b' },
        ],
      },
      [
        { type: 'text', text: 'seen' },
        { type: 'audio', source: { type: 'data', value: 'AAAA', mimeType: 'audio/wav' } },
        { type: 'video', source: { type: 'data', value: 'AAAA', mimeType: 'video/mp4' } },
        {
          type: 'document',
          source: { type: 'url', value: 'https://example.com/a.pdf', mimeType: 'application/pdf' },
        },
        {
          type: 'document',
          source: { type: 'url', value: 'https://example.com/b', mimeType: 'application/octet-stream' },
        },
      ],
    ],
  ])('shows a result of %s', (_, over, content) => {
    expect(written([result('c1', over)])).toStrictEqual([shownResult('#1', 'c1', content)])
  })

  test('takes back what it has shown of an answer that starts over', () => {
    const events: TurnEvent[] = [
      thinking('Hm.'),
      text('I look.'),
      answer('I look.', call('c1')),
      result('c1'),
      text('Wrong'),
      { type: 'restart' },
      answer('Right.', call('c2')),
      { type: 'restart' },
    ]
    const kept = [
      { id: '#1', role: 'reasoning', content: 'Hm.' },
      {
        id: '#2',
        role: 'assistant',
        content: 'I look.',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"c1"}' } }],
      },
      { id: '#3', toolCallId: 'c1', content: 'seen', role: 'tool' },
    ]
    expect(written(events).slice(-8)).toStrictEqual([
      textStart('#4'),
      textDelta('#4', 'Wrong'),
      textEnd('#4'),
      snapshot(...kept),
      ...shownCall('c2', '#5'),
      snapshot(...kept, {
        id: '#5',
        role: 'assistant',
        content: 'Right.',
        toolCalls: [{ id: 'c2', type: 'function', function: { name: 'look', arguments: '{"at":"c2"}' } }],
      }),
    ])
    expect(written([answer('Yes.'), { type: 'restart' }])).toStrictEqual([
      snapshot({ id: '#1', role: 'assistant', content: 'Yes.' }),
    ])
  })
})

describe('a run that waits', () => {
  const interrupt = (id: string, message: string) => ({
    id,
    reason: 'tool_call',
    toolCallId: id,
    message,
    responseSchema: {
      type: 'object',
      properties: {
        approved: { type: 'boolean' },
        reason: { type: 'string' },
        editedArgs: { type: 'object' },
      },
      required: ['approved'],
    },
  })

  test('is interrupted for approvals, with the thread as it is', () => {
    const calls = [pending('c1', 'approval'), pending('c2', 'approval', { inDoubt: true })]
    const events = [text('I ask.'), waits(...calls, pending('c3', 'answer'), pending('l1', 'limit'))]
    expect(written(events).slice(2)).toStrictEqual([
      snapshot(),
      textEnd('#1'),
      finished({
        type: 'interrupt',
        interrupts: [
          interrupt('c1', 'Approve the call of look?'),
          interrupt('c2', 'look was running when its process ended: approve it to run it again.'),
          interrupt('l1', 'Approve the call of look?'),
        ],
      }),
    ])
  })

  test('for tools of the page alone is over', () => {
    const events = [answer('', call('c1')), waits(pending('c1', 'answer'))]
    expect(written(events)).toStrictEqual([...shownCall('c1', '#1'), finished({ type: 'success' })])
  })

  test('shows a call of a sub-agent that the client has not seen, and no other', () => {
    const events = [
      waits(pending('p/c1', 'answer'), pending('c2', 'answer')),
      waits(pending('p/c1', 'answer')),
    ]
    expect(written(events)).toStrictEqual([
      ...shownCall('p/c1'),
      finished({ type: 'success' }),
      finished({ type: 'success' }),
    ])
  })
})

describe('a run ends', () => {
  test.each([
    [undefined, {}],
    [
      { inputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: 3, cost: 0.1 },
      { usage: [{ inputTokens: 5, cachedInputTokens: 2, cacheWriteInputTokens: 3 }] },
    ],
    [{ outputTokens: 7, cost: 0.1 }, { usage: [{ outputTokens: 7 }] }],
    [{ cacheWriteTokens: 0 }, { usage: [{ cacheWriteInputTokens: 0 }] }],
  ])('with the usage %j', (usage, shown) => {
    const end: TurnEvent = { type: 'end', finishReason: 'stop', ...(usage && { usage }) }
    expect(written([text('a'), end]).slice(2)).toStrictEqual([
      textEnd('#1'),
      finished({ type: 'success' }, shown),
    ])
  })

  test('when it breaks, or is aborted, after its open message', () => {
    const error = { type: 'RUN_ERROR', message: 'shown: out of paper', code: 'run_failed' }
    const broken = new ModelError('out of paper')
    expect(written([text('a')], { broken }).slice(2)).toStrictEqual([textEnd('#1'), error])
    expect(written([thinking('a')], { broken }).slice(3)).toStrictEqual([...thoughtEnd('#1'), error])
    expect(written([text('a')], { broken: new AbortedError('the user') }).slice(2)).toStrictEqual([
      textEnd('#1'),
      finished({ type: 'cancelled' }),
    ])
  })
})
