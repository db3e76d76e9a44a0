import { describe, expect, it } from 'vitest'
import { Framing } from '../../src/transport/framing.ts'
import type { FramedEvent } from '../../src/transport/textFraming.ts'

const frame = (
  chunks: (string | Uint8Array)[],
  { contentType = 'text/event-stream', isClean = true, maxEventSize = 1000 } = {},
) => {
  const events: FramedEvent[] = []
  const onEvent = ({ event, data }: FramedEvent) => void events.push(event ? { event, data } : { data })
  const framing = new Framing({ contentType, maxEventSize, secrets: ['hush-hush'], onEvent })
  let problem = undefined as ReturnType<Framing['push']>
  for (const chunk of chunks) problem ??= framing.push(Buffer.from(chunk as string))
  problem ??= framing.end(isClean)
  return { data: events.map(({ data }) => data), events, problem }
}

const everyCut = (text: string): Uint8Array[][] => {
  const bytes = Buffer.from(text)
  return Array.from(bytes, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])
}

describe('server-sent events', () => {
  const crlf =
    'event: a\r\ndata: naïve — 日本 🦜\r\n\r\n: note\r\n\r\nid: 1\r\ndata: {"x":"é"}\r\ndata: y\r\n\r\n'
  const wanted = [{ event: 'a', data: 'naïve — 日本 🦜' }, { data: '{"x":"é"}\ny' }]

  it.each([
    ['CRLF', crlf],
    ['LF', crlf.replaceAll('\r\n', '\n')],
    ['lone CR', crlf.replaceAll('\r\n', '\r')],
  ])('gives the same events for every cut of a stream with %s line ends', (_, text) => {
    for (const chunks of everyCut(text)) expect(frame(chunks).events).toEqual(wanted)
    expect(frame(Array.from(Buffer.from(text), (byte) => Buffer.of(byte))).events).toEqual(wanted)
  })

  it('does not hold back an event whose last CR might be half of a CRLF', () => {
    const events: string[] = []
    const onEvent = ({ data }: FramedEvent) => void events.push(data)
    const framing = new Framing({ contentType: '', maxEventSize: 100, secrets: [], onEvent })
    framing.push(Buffer.from('data: one\r\r'))
    expect(events).toEqual(['one'])
    framing.push(Buffer.from('data: two\r\n\r'))
    expect(events).toEqual(['one', 'two'])
    framing.push(Buffer.from('\ndata: three\r\n\r\n'))
    expect(events).toEqual(['one', 'two', 'three'])
  })

  it('keeps the last event when its blank line or its line end is missing', () => {
    expect(frame(['data: a\n\ndata: b\n']).data).toEqual(['a', 'b'])
    expect(frame(['data: a\n\ndata: b']).data).toEqual(['a', 'b'])
    expect(frame(['data: a\r\n\r\ndata: [DONE]\r']).data).toEqual(['a', '[DONE]'])
  })

  it('drops a document that was cut in the middle, so that the decoder sees a cut stream', () => {
    expect(frame(['data: a\n\ndata: {"text":"he']).data).toEqual(['a'])
    expect(frame(['data: a\n\ndata: [DON']).data).toEqual(['a'])
  })

  it('believes only whole lines when the connection broke', () => {
    expect(frame(['data: a\n\ndata: [DONE]\n'], { isClean: false }).data).toEqual(['a', '[DONE]'])
    expect(frame(['data: a\n\ndata: b'], { isClean: false }).data).toEqual(['a'])
  })

  it('reads past a byte order mark, blank lines and comments', () => {
    expect(frame(['\uFEFFdata: a\n\n']).data).toEqual(['a'])
    const mark = Buffer.from('\uFEFF')
    expect(frame([mark.subarray(0, 2), mark.subarray(2), 'data: a\n\n']).data).toEqual(['a'])
    expect(frame(['\n\n\n\n', '\n: OPENROUTER PROCESSING\n\n:\n\ndata: a\n\n']).data).toEqual(['a'])
  })

  it('passes empty data on, and ignores events without data', () => {
    expect(frame(['data:\n\ndata: \n\nevent: keepalive\n\ndata: a\n\n']).data).toEqual(['', '', 'a'])
  })

  it('turns bytes that are not UTF-8 into replacement characters', () => {
    const bad = Buffer.concat([
      Buffer.from('data: a'),
      Buffer.of(0xff, 0xe2, 0x82),
      Buffer.from('b\n\ndata: c\n\n'),
    ])
    expect(frame([bad]).data).toEqual(['a��b', 'c'])
    expect(frame([Buffer.from('data: a'), Buffer.of(0xe2, 0x82)]).data).toEqual(['a�'])
  })

  it('reads errors that gateways write without an event', () => {
    expect(frame(['data: a\n\nerror: {"code":500}\n\n']).events).toEqual([
      { data: 'a' },
      { event: 'error', data: '{"code":500}' },
    ])
    expect(frame(['data: a\n\n{"error":{"message":"down"}}\n']).data).toEqual([
      'a',
      '{"error":{"message":"down"}}',
    ])
  })

  it('stops at an event above the limit', () => {
    const big = 'x'.repeat(600)
    expect(frame([`data: ${big}`, big]).problem).toMatchObject({ code: 'event_too_large', retryable: false })
    expect(frame(Array(3).fill(`data: ${big}\n`)).problem).toMatchObject({ code: 'event_too_large' })
    expect(frame(Array(9).fill(`data: ${big}\n\n`)).problem).toBeUndefined()
  })
})

describe('JSON bodies', () => {
  const ndjson = { contentType: 'application/x-ndjson' }

  it('gives each line of NDJSON as soon as it is whole, for every cut', () => {
    const text = '{"a":"é"}\r\n\n{"b":"🦜"}\r\n{"c":3}'
    for (const chunks of everyCut(text)) {
      expect(frame(chunks, ndjson).data).toEqual(['{"a":"é"}', '{"b":"🦜"}', '{"c":3}'])
    }
  })

  it.each(['application/json', 'text/event-stream', 'text/plain', ''])(
    'sees NDJSON in a body that claims to be "%s"',
    (contentType) => {
      expect(frame(['{"a":1}\n{"b"', ':2}\n'], { contentType }).data).toEqual(['{"a":1}', '{"b":2}'])
    },
  )

  it.each(['application/json', 'application/x-ndjson', 'text/event-stream', ''])(
    'gives one document as one event when it claims to be "%s"',
    (contentType) => {
      const document = JSON.stringify({ error: { message: 'no' } }, undefined, 2)
      for (const chunks of everyCut(document)) expect(frame(chunks, { contentType }).data).toEqual([document])
    },
  )

  it('unwraps an array into events', () => {
    expect(frame(['[{"a":1}\n,\n{"b":2}\n]\n']).data).toEqual(['{"a":1}', '{"b":2}'])
    expect(frame(['[{"error":{"code":429}}]\n']).data).toEqual(['{"error":{"code":429}}'])
  })

  it('drops a line that was cut in the middle', () => {
    expect(frame(['{"a":1}\n{"b":'], ndjson).data).toEqual(['{"a":1}'])
    expect(frame(['{"a":1}\n{"b":2}'], { ...ndjson, isClean: false }).data).toEqual(['{"a":1}', '{"b":2}'])
  })

  it('stops at a line above the limit', () => {
    const chunks = ['{"a":1}\n{"b":"', ...Array(20).fill('y'.repeat(100))]
    expect(frame(chunks, ndjson).problem).toMatchObject({ code: 'event_too_large' })
  })
})

describe('other bodies', () => {
  it.each(['text/plain', 'application/json', 'text/html', ''])(
    'sees server-sent events in a body that claims to be "%s"',
    (contentType) => {
      for (const text of [
        'data: a\n\n',
        'event: e\ndata: a\n\n',
        ': hi\n\ndata: a\n\n',
        'id: 7\ndata: a\n\n',
      ]) {
        for (const chunks of everyCut(text)) expect(frame(chunks, { contentType }).data).toEqual(['a'])
      }
    },
  )

  it('says that an HTML page came', () => {
    expect(frame(['\n<!DOCTYPE html>'], { contentType: 'text/html' }).problem).toMatchObject({
      code: 'html_page',
      retryable: false,
      message: expect.stringContaining('an HTML page'),
    })
  })

  it('shows the text that came instead of a stream, without secrets', () => {
    const { problem } = frame(['upstream ', 'failed for hush-hush'], { contentType: 'text/plain' })
    expect(problem).toMatchObject({ code: 'unexpected_body' })
    expect(problem?.message).toContain('upstream failed for ***')
  })

  it('gives nothing for an empty body', () => {
    expect(frame([])).toEqual({ data: [], events: [], problem: undefined })
    expect(frame(['\n \n'])).toEqual({ data: [], events: [], problem: undefined })
  })
})

describe('JSON without a frame in a stream of events', () => {
  const error = { error: { code: 503, message: 'The model {is} "overloaded" \\ [now]', details: [[1], {}] } }
  const sse = (text: string) => ({ contentType: 'text/event-stream', text })

  it('is an event, over however many lines it goes and however it is cut', () => {
    for (const document of [JSON.stringify(error), JSON.stringify(error, undefined, 2)]) {
      const { contentType, text } = sse(`data: a\n\n${document}\n`)
      for (const chunks of everyCut(text))
        expect(frame(chunks, { contentType }).data).toEqual(['a', document])
    }
  })

  it('may have no line break at the end, and carriage returns in between', () => {
    const text = `data: a\r\n\r\n${JSON.stringify(error, undefined, 2).replaceAll('\n', '\r\n')}`
    const { data } = frame([text], { contentType: 'text/event-stream' })
    expect(data.map((each) => (each === 'a' ? each : JSON.parse(each)))).toEqual(['a', error])
  })

  it('may be a list, whose elements are events', () => {
    const text = `data: a\n\n${JSON.stringify([error, 1], undefined, 2)}\n\n`
    expect(frame([text]).data).toEqual(['a', JSON.stringify(error), '1'])
  })

  it('that is never closed is nothing, and does not swallow the events after it', () => {
    expect(frame(['data: a\n\n{\n"error": {\n\ndata: b\n\n}\n']).data).toEqual(['a', 'b'])
  })

  it('stops at the limit', () => {
    const lines = Array.from({ length: 50 }, () => `${'"y": 1, '.repeat(10)}\n`)
    expect(frame(['data: a\n\n{\n', ...lines]).problem).toMatchObject({ code: 'event_too_large' })
  })
})
