/** The events of both forms of OpenAI for each event of a turn, in order, and the whole answer at the end. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { FinishReason, PendingCall } from '../../../src/messages/result.ts'
import type { AnswerWriter, SendEvent } from '../../../src/ui/openai/writer.ts'
import { ChatCompletionWriter, ResponseWriter } from '../../../src/ui/openai/writer.ts'
import { HttpError } from '../../../src/ui/request.ts'
import type { TurnEvent } from '../../../src/ui/turn.ts'
import { numberedIds } from '../numberedIds.ts'

const at = 1_700_000_000
const played = (
  make: (send: SendEvent) => AnswerWriter,
  events: readonly TurnEvent[],
  broken?: HttpError,
) => {
  vi.useFakeTimers({ toFake: ['Date'], now: at * 1000 + 999 })
  onTestFinished(() => void vi.useRealTimers())
  const sent: JsonObject[] = []
  const writer = make((event) => void sent.push(structuredClone(event)))
  for (const event of events) writer.onEvent(event)
  if (broken) writer.fail(broken)
  return numberedIds({ sent, result: writer.result() })
}

const begin: TurnEvent = { type: 'begin', runId: 'r1' }
const text = (value: string): TurnEvent => ({ type: 'text', text: value })
const thinking = (value: string): TurnEvent => ({ type: 'thinking', text: value })
const end = (finishReason: FinishReason = 'stop'): TurnEvent => ({ type: 'end', finishReason })
const restart: TurnEvent = { type: 'restart' }
const pending = (id: string, kind: PendingCall['kind'] = 'answer'): PendingCall => ({
  type: 'toolCall',
  id,
  name: 'look',
  arguments: { at: id },
  kind,
})
const waits = (...calls: PendingCall[]): TurnEvent => ({ type: 'waits', calls })
/** Events that are not shown. */
const inside: TurnEvent[] = [
  { type: 'state', state: 'ToolExecution' },
  { type: 'progress', callId: 'c1', value: 1 },
  { type: 'callDelta', index: 0, id: 'c1', name: 'look', arguments: '{}' },
  { type: 'answer', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } },
  { type: 'result', result: { type: 'toolResult', id: 'c1', name: 'look', result: 'seen' } },
]
const usage = { inputTokens: 5, outputTokens: 7, cachedInputTokens: 2, reasoningTokens: 3 }
const broken = new HttpError(500, 'Something went wrong.', 'server_error')
const isRefusal = (status: number, code: string) => expect.objectContaining({ status, code })

describe('a chat completion', () => {
  const completion = (events: readonly TurnEvent[], hasUsage = false, failure?: HttpError) =>
    played((send) => new ChatCompletionWriter('helper', send, hasUsage), events, failure)
  const head = { id: 'chatcmpl-#1', created: at, model: 'helper' }
  const chunk = (delta: object, finish_reason: string | null = null, over: object = {}) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...over,
  })
  const used = (prompt: number, output: number, total: number, cached = 0, reasoning = 0) => ({
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  })
  const whole = (message: object, finish_reason: string, usedTokens = used(0, 0, 0)) => ({
    ...head,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', refusal: null, ...message }, logprobs: null, finish_reason },
    ],
    usage: usedTokens,
  })
  const first = chunk({ role: 'assistant', content: '' })

  test('is text and thinking, and nothing of the tools inside', () => {
    const events = [begin, thinking('H'), thinking('m.'), text('a'), ...inside, text('b'), end()]
    expect(completion(events)).toStrictEqual({
      sent: [
        first,
        chunk({ reasoning_content: 'H' }),
        chunk({ reasoning_content: 'm.' }),
        chunk({ content: 'a' }),
        chunk({ content: 'b' }),
        chunk({}, 'stop'),
      ],
      result: whole({ content: 'ab', reasoning_content: 'Hm.' }, 'stop'),
    })
  })

  test('of nothing is an empty text', () => {
    expect(completion([begin, end()])).toStrictEqual({
      sent: [first, chunk({}, 'stop')],
      result: whole({ content: '' }, 'stop'),
    })
    expect(completion([]).result).toStrictEqual(whole({ content: '' }, 'stop'))
  })

  test('shows its usage at the end, to clients that want it', () => {
    const events: TurnEvent[] = [begin, { type: 'end', finishReason: 'stop', usage }]
    const none = { usage: null }
    expect(completion(events, true).sent).toStrictEqual([
      { ...first, ...none },
      chunk({}, 'stop', none),
      { ...chunk({}), choices: [], usage: used(5, 7, 12, 2, 3) },
    ])
    expect(completion(events).sent).toStrictEqual([first, chunk({}, 'stop')])
    expect(completion(events).result).toStrictEqual(whole({ content: '' }, 'stop', used(5, 7, 12, 2, 3)))
    const total: TurnEvent = { type: 'end', finishReason: 'stop', usage: { inputTokens: 5, totalTokens: 9 } }
    expect(completion([total]).result.usage).toStrictEqual(used(5, 0, 9))
  })

  test('asks for the tools of the client', () => {
    const call = (id: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: JSON.stringify({ at: id }) },
    })
    const tool_calls = [call('c1'), call('c2')]
    expect(completion([waits(pending('c1'), pending('c2'))])).toStrictEqual({
      sent: [
        chunk({
          tool_calls: [
            { index: 0, ...call('c1') },
            { index: 1, ...call('c2') },
          ],
        }),
        chunk({}, 'tool_calls'),
      ],
      result: whole({ content: null, tool_calls }, 'tool_calls'),
    })
    expect(completion([text('I look.'), waits(pending('c1'))]).result).toStrictEqual(
      whole({ content: 'I look.', tool_calls: [call('c1')] }, 'tool_calls'),
    )
  })

  const reasons: Record<FinishReason, string> = {
    stop: 'stop',
    length: 'length',
    maxSteps: 'length',
    limit: 'length',
    contentFilter: 'content_filter',
    toolCalls: 'tool_calls',
    error: 'stop',
    aborted: 'stop',
    unspecified: 'stop',
  }
  test.each(Object.entries(reasons))('that ended for %s says %s', (reason, shown) => {
    const { sent, result } = completion([end(reason as FinishReason)])
    expect(sent).toStrictEqual([chunk({}, shown)])
    expect(result).toStrictEqual(whole({ content: '' }, shown))
  })

  test('that breaks ends with the error', () => {
    const error = {
      type: 'server_error',
      message: 'Something went wrong.',
      param: null,
      code: 'server_error',
    }
    expect(completion([begin], false, broken).sent).toStrictEqual([first, { error }])
    const refused = completion([], false, new HttpError(499, 'No.', 'left')).sent
    expect(refused).toStrictEqual([
      { error: { type: 'invalid_request_error', message: 'No.', param: null, code: 'left' } },
    ])
  })
})

describe('a response', () => {
  const response = (events: readonly TurnEvent[], failure?: HttpError) =>
    played((send) => new ResponseWriter('helper', send), events, failure)
  const used = (input: number, output: number, total: number, cached = 0, reasoning = 0) => ({
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  })
  const whole = (status: string, output: object[], over: object = {}) => ({
    id: 'resp_#1',
    object: 'response',
    created_at: at,
    model: 'helper',
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: null,
    ...over,
  })
  const done = (...output: object[]) => whole('completed', output, { usage: used(0, 0, 0) })
  /** Events with their sequence numbers. */
  const events = (...each: object[]) => each.map((event, index) => ({ sequence_number: index, ...event }))
  const textPart = (value: string) => ({ type: 'output_text', text: value, annotations: [], logprobs: [] })
  const message = (id: string, value: string) => ({
    id,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [textPart(value)],
  })
  const textStart = (item_id: string, output_index: number) => [
    {
      type: 'response.output_item.added',
      output_index,
      item: { id: item_id, type: 'message', role: 'assistant', status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      item_id,
      output_index,
      content_index: 0,
      part: textPart(''),
    },
  ]
  const textDelta = (item_id: string, output_index: number, delta: string) => ({
    type: 'response.output_text.delta',
    item_id,
    output_index,
    content_index: 0,
    delta,
    logprobs: [],
  })
  const textEnd = (item_id: string, output_index: number, value: string) => [
    {
      type: 'response.output_text.done',
      item_id,
      output_index,
      content_index: 0,
      text: value,
      logprobs: [],
    },
    {
      type: 'response.content_part.done',
      item_id,
      output_index,
      content_index: 0,
      part: textPart(value),
    },
    { type: 'response.output_item.done', output_index, item: message(item_id, value) },
  ]
  const summary = (value: string) => ({ type: 'summary_text', text: value })
  const thought = (id: string, value: string) => ({ id, type: 'reasoning', summary: [summary(value)] })

  test('is text and thinking, and nothing of the tools inside', () => {
    const place = { item_id: 'rs_#2', output_index: 0, summary_index: 0 }
    const turn = [begin, thinking('H'), thinking('m.'), text('a'), ...inside, text('b'), end()]
    const output = [thought('rs_#2', 'Hm.'), message('msg_#3', 'ab')]
    expect(response(turn)).toStrictEqual({
      sent: events(
        { type: 'response.created', response: whole('in_progress', []) },
        { type: 'response.in_progress', response: whole('in_progress', []) },
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { id: 'rs_#2', type: 'reasoning', summary: [] },
        },
        { type: 'response.reasoning_summary_part.added', ...place, part: summary('') },
        { type: 'response.reasoning_summary_text.delta', ...place, delta: 'H' },
        { type: 'response.reasoning_summary_text.delta', ...place, delta: 'm.' },
        { type: 'response.reasoning_summary_text.done', ...place, text: 'Hm.' },
        { type: 'response.reasoning_summary_part.done', ...place, part: summary('Hm.') },
        { type: 'response.output_item.done', output_index: 0, item: output[0] },
        ...textStart('msg_#3', 1),
        textDelta('msg_#3', 1, 'a'),
        textDelta('msg_#3', 1, 'b'),
        ...textEnd('msg_#3', 1, 'ab'),
        { type: 'response.completed', response: done(...output) },
      ),
      result: done(...output),
    })
  })

  test('asks for the tools of the client', () => {
    const item = (id: string, call_id: string, args: string, status: string) => ({
      id,
      type: 'function_call',
      call_id,
      name: 'look',
      arguments: args,
      status,
    })
    const called = (id: string, call_id: string, output_index: number) => {
      const args = JSON.stringify({ at: call_id })
      const place = { item_id: id, output_index }
      return [
        { type: 'response.output_item.added', output_index, item: item(id, call_id, '', 'in_progress') },
        { type: 'response.function_call_arguments.delta', ...place, delta: args },
        { type: 'response.function_call_arguments.done', ...place, name: 'look', arguments: args },
        { type: 'response.output_item.done', output_index, item: item(id, call_id, args, 'completed') },
      ]
    }
    const output = [
      message('msg_#1', 'I look.'),
      item('fc_#2', 'c1', '{"at":"c1"}', 'completed'),
      item('fc_#3', 'c2', '{"at":"c2"}', 'completed'),
    ]
    const result = { ...done(...output), id: 'resp_#4' }
    expect(response([text('I look.'), waits(pending('c1'), pending('c2'))])).toStrictEqual({
      sent: events(
        ...textStart('msg_#1', 0),
        textDelta('msg_#1', 0, 'I look.'),
        ...textEnd('msg_#1', 0, 'I look.'),
        ...called('fc_#2', 'c1', 1),
        ...called('fc_#3', 'c2', 2),
        { type: 'response.completed', response: result },
      ),
      result,
    })
  })

  test('shows its usage at the end', () => {
    const withUsage = (each: object): TurnEvent => ({ type: 'end', finishReason: 'stop', usage: each })
    expect(response([withUsage(usage)]).result.usage).toStrictEqual(used(5, 7, 12, 2, 3))
    expect(response([withUsage({ outputTokens: 7, totalTokens: 9 })]).result.usage).toStrictEqual(
      used(0, 7, 9),
    )
  })

  const reasons: Record<FinishReason, string | undefined> = {
    stop: undefined,
    length: 'max_output_tokens',
    maxSteps: 'max_output_tokens',
    limit: 'max_output_tokens',
    contentFilter: 'content_filter',
    toolCalls: undefined,
    error: undefined,
    aborted: undefined,
    unspecified: undefined,
  }
  test.each(Object.entries(reasons))('that ended for %s is incomplete because of %s', (name, reason) => {
    const details = { usage: used(0, 0, 0), incomplete_details: reason ? { reason } : null }
    const result = whole(reason ? 'incomplete' : 'completed', [], details)
    expect(response([end(name as FinishReason)])).toStrictEqual({
      sent: events({ type: `response.${result.status}`, response: result }),
      result,
    })
  })

  test('that breaks ends its open part, and with the error', () => {
    const error = { code: 'server_error', message: 'Something went wrong.' }
    const result = { ...whole('failed', [message('msg_#1', 'a')], { error }), id: 'resp_#2' }
    expect(response([text('a')], broken).sent.slice(3)).toStrictEqual(
      events({}, {}, {}, ...textEnd('msg_#1', 0, 'a'), { type: 'response.failed', response: result }).slice(
        3,
      ),
    )
  })
})

describe.each<[string, (send: SendEvent) => AnswerWriter]>([
  ['a chat completion', (send) => new ChatCompletionWriter('helper', send, false)],
  ['a response', (send) => new ResponseWriter('helper', send)],
])('%s', (_, make) => {
  test('cannot start over once anything was shown', () => {
    const play = (...events: TurnEvent[]) => played(make, events)
    expect(() => play(begin, restart, text('a'), end())).not.toThrow()
    for (const shown of [[text('a')], [thinking('a')], [text('a'), end()]])
      expect(() => play(begin, ...shown, restart)).toThrow(isRefusal(500, 'server_error'))
  })

  test('has no form for a call that needs a person', () => {
    for (const kind of ['approval', 'limit'] as const)
      expect(() => played(make, [waits(pending('c1'), pending('c2', kind))])).toThrow(
        isRefusal(500, 'approval_required'),
      )
  })
})
