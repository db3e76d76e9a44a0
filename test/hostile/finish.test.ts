import { describe, expect, test } from 'vitest'
import { anthropic, grow, message, open, close as shut, textBlock } from './anthropicWire.ts'
import { callChunk, chatEvents, chunk, mistral, openai } from './chatWire.ts'
import { callsRun, farewell, lastTurn, loop, modelError, once, run, weather, wires } from './hostileRun.ts'
import { google, googleChunk } from './otherWires.ts'
import { completed, created, messageEvents, messageItem, responses } from './responsesWire.ts'
import { callsRunWhatever, toolWordWithoutCall, unknownWord } from './turnHabits.ts'
import { answer, namedSse, sse } from './wire.ts'

// What an answer's end means: rows 25 to 33 of the list of wire failures. The loop goes by the calls that are there,
// never by the provider's word; the word is kept.

const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }

describe.each(wires)('$model', (wire) => {
  const { words } = wire

  test.each([
    ['stop_with_call', words.stop],
    ['unknown_with_call', 'whatever_comes_next'],
    ['length_with_whole_call', words.length],
  ])('%s: the calls run, whatever the word', (_, finish) => callsRunWhatever(wire, finish))

  test('raw_word_kept: the word of an answer with calls is kept', async () => {
    const outcome = await once(wire, { calls: [oslo], finish: words.length }, { maxSteps: 1 })

    expect(outcome.result.finishReason).toBe('maxSteps')
    const raw = wire === responses ? 'incomplete' : words.length
    expect(outcome.result.rawFinishReason).toBe(raw)
    expect(callsRun(outcome)).toEqual([weather('Oslo')])
  })

  test('tool_word_without_call: a plain answer that is called a tool call is a plain answer', () =>
    toolWordWithoutCall(wire))

  test('tool_word_without_anything: an empty answer that is called a tool call ends the run', async () => {
    const outcome = await once(wire, { finish: words.toolCalls })

    expect(outcome.bodies).toHaveLength(1)
    expect(outcome.result).toMatchObject({ output: '', finishReason: 'stop' })
  })

  test('unknown_word: an answer with a word that is not known is an answer', () => unknownWord(wire))

  test('length: a text that reached its limit says so', async () => {
    const outcome = await once(wire, { text: farewell, finish: words.length })

    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'length' })
  })

  test('no_calls: an answer without calls ends the run, and the result says that it stopped', async () => {
    const outcome = await once(wire, { text: 'I will not look it up.' })

    expect(outcome.bodies).toHaveLength(1)
    expect(outcome.result).toMatchObject({ output: 'I will not look it up.', finishReason: 'stop' })
  })

  test('endless_calls: a model that always calls is stopped at the step limit, with a valid history', async () => {
    const again = answer(wire, wire.events({ calls: [{ ...oslo, id: 'again' }] }))
    const outcome = await run(wire, [again, again, again], { reusesIds: true })

    expect(outcome.bodies).toHaveLength(3)
    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Oslo'), weather('Oslo')])
    expect(outcome.result.finishReason).toBe('maxSteps')
  })

  test('empty_after_tools: an empty answer after tools is asked for once more', async () => {
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const nothing = answer(wire, wire.events({}))
    const outcome = await run(wire, [first, nothing, lastTurn(wire)])

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.bodies).toHaveLength(3)
    expect(wire.sentResults(outcome.bodies[2] ?? {})).toEqual(wire.sentResults(outcome.bodies[1] ?? {}))
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('empty_twice: a second empty answer is final', async () => {
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const nothing = answer(wire, wire.events({}))
    const outcome = await run(wire, [first, nothing, nothing], { maxSteps: 9 })

    expect(outcome.bodies).toHaveLength(3)
    expect(outcome.result).toMatchObject({ output: '', finishReason: 'stop' })
  })
})

// Ollama has no such word.
const filtering = wires.filter(({ model }) => !model.startsWith('ollama'))

describe.each(filtering)('$model', (wire) => {
  const { filter } = wire.words

  test('filter_empty: a filtered empty answer is a refusal and is not asked for again', async () => {
    const outcome = await once(wire, { finish: filter }, { retry: { maxRetries: 2, initialDelayMs: 1 } })

    expect(outcome.error).toBeUndefined()
    expect(outcome.bodies).toHaveLength(1)
    expect(outcome.result).toMatchObject({ output: '', finishReason: 'contentFilter' })
  })

  test('filter_after_tools: nor after a tool round', async () => {
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const outcome = await run(wire, [first, answer(wire, wire.events({ finish: filter }))])

    expect(outcome.bodies).toHaveLength(2)
    expect(outcome.result).toMatchObject({ output: '', finishReason: 'contentFilter' })
  })

  test('filter_mid_text: the text that came before the filter is kept', async () => {
    const outcome = await once(wire, { text: 'So far', finish: filter })

    expect(outcome.result).toMatchObject({ output: 'So far', finishReason: 'contentFilter' })
  })
})

describe.each([openai, mistral])('$model', (wire) => {
  const call = callChunk({ index: 0, ...oslo })

  test('finish_early: calls and text that follow a finish reason still count', async () => {
    const first = chunk({ content: 'Let me ' }, 'stop')
    const outcome = await loop(wire, chatEvents([first, chunk({ content: 'look.' }), call], 'tool_calls'))

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
    expect(outcome.result.output).toBe(`Let me look.\n${farewell}`)
  })

  test('finish_empty: an empty or null finish reason does not count', async () => {
    const cut = sse(chunk({ content: 'So far' }, ''), chunk({}, null))
    const outcome = await once(wire, cut)

    expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
    expect(outcome.result.output).toBe('So far')
  })

  test('done_only: [DONE] alone ends an answer', async () => {
    const outcome = await once(wire, sse(chunk({ content: farewell }), '[DONE]'))

    expect(outcome.error).toBeUndefined()
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })
})

const no = 'I cannot help with that.'

const refusals = [
  [openai, chatEvents([chunk({ reasoning_content: 'Hm.' }), chunk({ refusal: no })], 'stop')],
  [mistral, chatEvents([chunk({ reasoning_content: 'Hm.' }), chunk({ refusal: no })], 'stop')],
  [
    responses,
    namedSse(
      ...created(),
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm.' },
      { type: 'response.refusal.delta', output_index: 1, content_index: 0, delta: no },
      completed([{ type: 'message', id: 'msg_1', content: [{ type: 'refusal', refusal: no }] }]),
    ),
  ],
  [
    anthropic,
    namedSse(
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      grow(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      shut(0),
      {
        type: 'message_delta',
        delta: { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: no } },
      },
      { type: 'message_stop' },
    ),
  ],
] as const

describe.each(refusals)('$model', (wire, events) => {
  test('refusal_after_reasoning: a refusal that follows nothing but thinking ends the run, with its words', async () => {
    const outcome = await once(wire, events, { retry: { maxRetries: 2, initialDelayMs: 1 } })

    expect(outcome.bodies).toHaveLength(1)
    expect(outcome.result).toMatchObject({
      output: '',
      finishReason: 'contentFilter',
      metadata: { thinking: 'Hm.', refusal: no },
    })
  })
})

const executed = { index: 0, type: 'search', arguments: '{"query":"Oslo"}', output: 'sunny' }

const serverTools = [
  [
    'groq:m',
    openai,
    chatEvents([chunk({ executed_tools: [executed] }), chunk({ content: farewell })], 'tool_calls'),
  ],
  [
    anthropic.model,
    anthropic,
    message(
      [
        open(0, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
        grow(0, { type: 'input_json_delta', partial_json: '{"query":"Oslo"}' }),
        shut(0),
        open(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
        shut(1),
        ...textBlock(2, farewell),
      ],
      'tool_use',
    ),
  ],
  [
    responses.model,
    responses,
    namedSse(
      ...created(),
      { type: 'response.output_item.added', output_index: 0, item: { type: 'web_search_call', id: 'ws_1' } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      },
      ...messageEvents(farewell, 1),
      completed([{ type: 'web_search_call', id: 'ws_1', status: 'completed' }, messageItem(farewell)]),
    ),
  ],
  [
    google.model,
    google,
    sse(
      googleChunk([{ executableCode: { language: 'PYTHON', code: 'print(21)' } }]),
      googleChunk([{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '21' } }]),
      googleChunk([{ text: farewell }], 'STOP'),
    ),
  ],
] as const

describe.each(serverTools)('%s', (model, wire, events) => {
  test("server_tools: the provider's own tools are shown but never run or answered here", async () => {
    const outcome = await once(wire, events, { model })

    expect(outcome.ran).toEqual([])
    expect(outcome.bodies).toHaveLength(1)
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
    expect(outcome.result.metadata.serverTools).not.toHaveLength(0)
  })
})
