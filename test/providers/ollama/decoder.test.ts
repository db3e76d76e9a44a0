import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ollama } from '../../../providers/ollama/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { target } from './target.ts'

const line = (message: JsonObject, rest: JsonObject = {}): string =>
  JSON.stringify({ model: 'qwen3:8b', message: { role: 'assistant', content: '', ...message }, ...rest })
const done = (reason: string | null, rest: JsonObject = {}): string =>
  line({}, { done: true, ...(reason !== null && { done_reason: reason }), ...rest })
const call = (name: string, args: JsonObject, rest: JsonObject = {}): JsonObject => ({
  ...rest,
  function: { index: 0, name, arguments: args },
})

const decode = (...lines: string[]): Delta[] => {
  const decoder = ollama.decoder(target)
  return [...lines.flatMap((data) => decoder.push({ data })), ...decoder.end()]
}
const callsIn = (deltas: Delta[]) =>
  deltas.flatMap((delta) => (delta.type === 'toolCall' ? [delta.call] : []))

describe('a complete answer', () => {
  it('gives text and thinking line by line, then the counts and the finish', () => {
    const deltas = decode(
      line({ thinking: 'Hm' }, { done: false }),
      line({ content: 'Hel' }, { done: false }),
      line({ content: 'lo' }, { done: false }),
      done('stop', { prompt_eval_count: 12, eval_count: 3, total_duration: 99 }),
    )
    expect(deltas).toEqual([
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
      { type: 'usage', usage: { inputTokens: 12, outputTokens: 3, totalTokens: 15 } },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ])
  })

  it('takes text that comes with the last line', () => {
    expect(decode(line({ content: 'Bye' }, { done: true, done_reason: 'stop' }))).toEqual([
      { type: 'text', text: 'Bye' },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ])
  })

  it('reports no usage when the server counted nothing, and only what it counted otherwise', () => {
    expect(decode(done('stop'))).toEqual([{ type: 'finish', reason: 'stop', raw: 'stop' }])
    expect(decode(done('stop', { eval_count: 5 }))[0]).toEqual({ type: 'usage', usage: { outputTokens: 5 } })
  })

  it.each([
    ['length', 'length'],
    ['load', 'stop'],
    ['unload', 'stop'],
  ])('keeps the word %s and calls it %s', (raw, reason) => {
    expect(decode(done(raw))).toEqual([{ type: 'finish', reason, raw }])
  })

  it('makes up no word when the server gives none', () => {
    expect(decode(done(null))).toEqual([{ type: 'finish', reason: 'stop' }])
  })

  it('says nothing more once it is finished', () => {
    const decoder = ollama.decoder(target)
    decoder.push({ data: done('stop') })
    expect(decoder.push({ data: line({ content: 'late' }) })).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  it('ignores blank lines, unknown fields and content of a wrong type', () => {
    const deltas = decode('', '  ', '{"status":"loading"}', line({ content: 7, mood: 'good' }), done('stop'))
    expect(deltas).toEqual([{ type: 'finish', reason: 'stop', raw: 'stop' }])
  })
})

describe('tool calls', () => {
  it('come right before the finish, which is about them although the server says stop', () => {
    const deltas = decode(line({ tool_calls: [call('weather', { city: 'Oslo' })] }), done('stop'))
    expect(deltas).toEqual([
      { type: 'toolDelta', index: 0, name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'toolCall', call: { id: '', name: 'weather', arguments: { city: 'Oslo' } } },
      { type: 'finish', reason: 'toolCalls', raw: 'stop' },
    ])
  })

  it('are all kept when the server gives each the same index and no id', () => {
    const deltas = decode(
      line({ tool_calls: [call('add', { x: 1 }), call('add', { x: 1 })] }),
      line({ tool_calls: [call('add', { x: 2 })] }),
      done('stop'),
    )
    expect(callsIn(deltas).map((made) => made.arguments)).toEqual([{ x: 1 }, { x: 1 }, { x: 2 }])
    expect(deltas.flatMap((delta) => (delta.type === 'toolDelta' ? [delta.index] : []))).toEqual([0, 1, 2])
  })

  it('keep the id the server gave', () => {
    const deltas = decode(line({ tool_calls: [call('now', {}, { id: 'call_1' })] }), done('stop'))
    expect(callsIn(deltas)).toEqual([{ id: 'call_1', name: 'now', arguments: {} }])
  })

  it('may come with the last line', () => {
    const last = line({ tool_calls: [call('now', {})] }, { done: true, done_reason: 'stop' })
    expect(decode(last).at(-1)).toEqual({ type: 'finish', reason: 'toolCalls', raw: 'stop' })
    expect(callsIn(decode(last))).toHaveLength(1)
  })

  it('with arguments as a text are read strictly', () => {
    const written = (args: string) => ({ function: { name: 'weather', arguments: args } })
    const [good, none, cut] = callsIn(
      decode(
        line({ tool_calls: [written('{"city":"Oslo"}'), written('null'), written('{"city":"Os')] }),
        done('stop'),
      ),
    )
    expect(good).toEqual({ id: '', name: 'weather', arguments: { city: 'Oslo' } })
    expect(none).toEqual({ id: '', name: 'weather', arguments: {} })
    expect(cut).toMatchObject({ arguments: {}, argumentsRaw: '{"city":"Os' })
    expect(cut?.argumentsError).toMatch(/not valid JSON/)
  })

  it('leave a __proto__ argument harmless', () => {
    const hostile = '{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"__proto__":{"x":1}}}}]}}'
    const [made] = callsIn(decode(hostile, done('stop')))
    expect(Object.keys(made?.arguments ?? {})).toEqual(['__proto__'])
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  it('after thinking leave a note that the thinking is the provider’s own', () => {
    const called = line({ thinking: 'I need it', tool_calls: [call('now', {})] })
    const note = { type: 'opaque', protocol: 'ollama', data: { provider: 'ollama', ownThinking: true } }
    expect(decode(called, done('stop')).at(-2)).toEqual(note)
    expect(decode(line({ thinking: 'no tool' }), done('stop'))).not.toContainEqual(note)
  })
})

describe('a stream that goes wrong', () => {
  it('is truncated without done: true, and shows only the calls that are whole', () => {
    const half = { function: { name: 'b', arguments: '{"x":' } }
    const deltas = decode(line({ content: 'Hel', tool_calls: [call('a', {}), half] }))
    expect(callsIn(deltas)).toEqual([{ id: '', name: 'a', arguments: {} }])
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'truncated', retryable: true } })
  })

  it('ends with the server’s message when an error line comes, and it may be tried again', () => {
    const deltas = decode(line({ content: 'Hel' }), '{"error":"model runner has unexpectedly stopped"}')
    expect(deltas).toEqual([
      { type: 'text', text: 'Hel' },
      {
        type: 'error',
        error: { name: 'ModelError', message: 'model runner has unexpectedly stopped', retryable: true },
      },
    ])
  })

  it('is not worth another try when the error line says why', () => {
    const [delta] = decode('{"error":"unauthorized","StatusCode":401}')
    expect(delta).toMatchObject({ type: 'error', error: { status: 401, retryable: false } })
  })

  it('ends at a line that is not JSON', () => {
    const deltas = decode(line({ content: 'Hel' }), '{"message": ', done('stop'))
    expect(deltas.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid_json' } })
    expect(deltas).toHaveLength(2)
  })

  it('never finishes when it is cut after any line', () => {
    const lines = [line({ thinking: 'a' }), line({ content: 'b' }), line({ tool_calls: [call('c', {})] })]
    for (let count = 0; count <= lines.length; count++) {
      const deltas = decode(...lines.slice(0, count))
      expect(deltas.at(-1)?.type).toBe('error')
      expect(deltas.filter((delta) => delta.type === 'finish')).toEqual([])
    }
  })
})

it('survives any line, and ends exactly once', () => {
  const key = fc.constantFrom('message', 'content', 'thinking', 'tool_calls', 'function', 'name', 'done', 'x')
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 0, '', 'stop'),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 4 }),
    ),
  })).any
  const lines = fc.array(
    fc.oneof(
      value.map((any) => JSON.stringify(any)),
      fc.string(),
    ),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(lines, (any) => {
      const ends = decode(...any).filter(({ type }) => type === 'finish' || type === 'error')
      expect(ends).toHaveLength(1)
    }),
  )
})

describe('error bodies', () => {
  it.each([
    [{ error: "model 'x' not found" }, { message: "model 'x' not found" }],
    [
      { StatusCode: 429, Status: '429 Too Many Requests', error: 'usage limit' },
      { message: 'usage limit', code: '429' },
    ],
    [
      { StatusCode: 401, Status: '401 Unauthorized' },
      { message: '401 Unauthorized', code: '401' },
    ],
    [
      { error: { message: 'no such model', type: 'not_found_error', code: null } },
      { message: 'no such model', code: 'not_found_error' },
    ],
    [{ message: 'upstream is down' }, { message: 'upstream is down' }],
    [{ error: { reason: 'odd' } }, { message: '{"reason":"odd"}' }],
  ])('%j is read', (body, error) => {
    expect(ollama.error(body)).toEqual(error)
  })

  it.each([null, 'text', [], {}, { message: { role: 'assistant', content: 'hi' }, done: true }])(
    '%j is not an error',
    (body) => {
      expect(ollama.error(body)).toBeUndefined()
    },
  )
})
