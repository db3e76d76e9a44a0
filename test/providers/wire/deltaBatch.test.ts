import { describe, expect, it } from 'vitest'
import { DeltaBatch } from '../../../providers/wire/decoder.ts'
import type { Decoder } from '../../../providers/wire/protocol.ts'
import type { ErrorData } from '../../../src/messages/errors.ts'
import type { Delta } from '../../../src/model/delta.ts'

const text = (text: string): Delta => ({ type: 'text', text })
const finish: Delta = { type: 'finish', reason: 'stop', raw: 'secret' }
const failure: ErrorData = { name: 'ModelError', message: 'No.', retryable: false }

/** Events are JSON lists of deltas; anything else is thrown at. */
const decoder = (more: Partial<Decoder> = {}): Decoder => ({
  push: ({ data }) => JSON.parse(data),
  end: (isBroken) => [text(isBroken ? 'broken' : 'ended')],
  ...more,
})
const event = (...deltas: Delta[]) => ({ data: JSON.stringify(deltas) })

describe('a batch', () => {
  it('has what came since the last one', () => {
    const batch = new DeltaBatch(decoder())
    batch.push(event(text('a'), text('b')))
    batch.push(event(text('c')))
    expect(batch.take()).toEqual([text('a'), text('b'), text('c')])
    expect(batch.take()).toEqual([])
    batch.end(true)
    expect(batch.take()).toEqual([text('broken')])
    expect([batch.isFinished, batch.failure]).toEqual([false, undefined])
  })

  it('has the pieces of one call in one read as one, with the newest name', () => {
    const piece = (index: number, args: string, more: object = {}): Delta => ({
      type: 'toolDelta',
      index,
      arguments: args,
      ...more,
    })
    const batch = new DeltaBatch(decoder())
    batch.push(event(piece(0, '{"a', { id: 'c1', name: 'get' })))
    batch.push(event(piece(0, '":1}', { id: 'c1', name: 'get_weather' }), piece(1, '{'), piece(1, '}')))
    batch.push(event(text('so'), piece(1, ' ')))
    expect(batch.take()).toEqual([
      piece(0, '{"a":1}', { id: 'c1', name: 'get_weather' }),
      piece(1, '{}'),
      text('so'),
      piece(1, ' '),
    ])
    batch.push(event(piece(1, ' ')))
    expect(batch.take()).toEqual([piece(1, ' ')])
  })

  it('asks for what could wait once per read, and not after the end', () => {
    let reads = 0
    const batch = new DeltaBatch(decoder({ readDone: () => [text(`read ${++reads}`)] }))
    batch.push(event(text('a')))
    expect(batch.take()).toEqual([text('a'), text('read 1')])
    expect(batch.take()).toEqual([text('read 2')])
    batch.push(event(finish))
    expect(batch.take()).toEqual([finish])
    expect(reads).toBe(2)
  })

  it('is over at the finish', () => {
    const batch = new DeltaBatch(decoder())
    batch.push(event(finish))
    expect(batch.isFinished).toBe(true)
    batch.push(event(text('late')))
    batch.end(false)
    expect(batch.take()).toEqual([finish])
  })

  it('is over at an error, which is kept apart, with the finish word that came before it', () => {
    let reads = 0
    const count = () => {
      reads += 1
      return []
    }
    const plain = new DeltaBatch(decoder({ readDone: count }))
    plain.push(event(text('a'), { type: 'error', error: failure }))
    plain.push(event(text('late')))
    plain.end(false)
    expect([plain.take(), plain.failure, plain.isFinished, reads]).toEqual([[text('a')], failure, false, 0])
    const worded = new DeltaBatch(decoder({ end: () => [{ type: 'error', error: failure, raw: 'length' }] }))
    worded.end(false)
    expect([worded.take(), worded.failure]).toEqual([[], { ...failure, rawFinishReason: 'length' }])
    expect(Object.keys(plain.failure ?? {})).not.toContain('rawFinishReason')
  })

  it('hides secrets in what a server names itself, and nowhere else', () => {
    const batch = new DeltaBatch(decoder(), (hidden) => hidden.replace('secret', '***'))
    batch.push(event({ type: 'response', id: 'secret-1' }, text('secret'), finish))
    expect(batch.take()).toEqual([
      { type: 'response', id: '***-1' },
      text('secret'),
      { type: 'finish', reason: 'stop', raw: '***' },
    ])
    const wordless = new DeltaBatch(decoder(), () => '***')
    wordless.push(event({ type: 'finish', reason: 'stop' }))
    expect(wordless.take()).toEqual([{ type: 'finish', reason: 'stop' }])
  })

  it.each(['push', 'end'] as const)('turns a throw of %s into a failure', (method) => {
    const thrower = () => {
      throw new Error('Oops')
    }
    const batch = new DeltaBatch(decoder({ [method]: thrower }))
    if (method === 'push') batch.push(event(text('a')))
    else batch.end(false)
    expect(batch.failure).toEqual({
      name: 'ModelError',
      message: 'An event of the provider could not be read: Oops',
      code: 'undecodable_event',
      retryable: false,
    })
    expect(batch.take()).toEqual([])
  })
})
