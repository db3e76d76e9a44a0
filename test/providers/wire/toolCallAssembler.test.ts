import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolCallAssembler, type ToolCallPiece } from '../../../providers/wire/toolCallAssembler.ts'

const assemble = (...pieces: ToolCallPiece[]) => {
  const assembler = new ToolCallAssembler()
  for (const piece of pieces) assembler.add(piece)
  return assembler.finish()
}

const oslo = { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } }
const rome = { id: 'b', name: 'get_time', arguments: { city: 'Rome' } }

describe('calls that a server marks properly', () => {
  it('joins the pieces at an index', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '' },
        { index: 0, arguments: '{"city":' },
        { index: 0, arguments: '"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('keeps two calls apart whose pieces are interleaved', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 1, id: 'b', name: 'get_time', arguments: '{"city":' },
        { index: 0, arguments: '"Oslo"}' },
        { index: 1, arguments: '"Rome"}' },
      ),
    ).toEqual([oslo, rome])
  })

  it('takes indexes that do not start at zero', () => {
    expect(assemble({ index: 3, id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' })).toEqual([oslo])
  })
})

describe('indexes that lie', () => {
  it('keeps both calls when a server reuses index 0', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { index: 0, id: 'b', name: 'get_time', arguments: '{"city":"Rome"}' },
      ),
    ).toEqual([oslo, rome])
  })

  it('keeps both calls when index 0 is reused and the arguments come in pieces', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '' },
        { index: 0, arguments: '{"city":"Oslo"}' },
        { index: 0, id: 'b', name: 'get_time', arguments: '' },
        { index: 0, arguments: '{"city":"Rome"}' },
      ),
    ).toEqual([oslo, rome])
  })

  it('keeps both calls when index 0 is reused and nothing has an id', () => {
    expect(
      assemble(
        { index: 0, name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { index: 0, name: 'get_time', arguments: '{"city":"Rome"}' },
      ),
    ).toEqual([
      { ...oslo, id: '' },
      { ...rome, id: '' },
    ])
  })

  it('follows the ids when every piece says index 0', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 0, id: 'b', name: 'get_time', arguments: '{"city":' },
        { index: 0, id: 'a', arguments: '"Oslo"}' },
        { index: 0, id: 'b', arguments: '"Rome"}' },
      ),
    ).toEqual([oslo, rome])
  })

  it('stays with a call whose index is counted up with every piece', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 1, id: 'a', arguments: '"Oslo"}' },
      ),
    ).toEqual([oslo])
  })
})

describe('no index', () => {
  it('joins pieces by id', () => {
    expect(
      assemble(
        { id: 'a', name: 'get_weather', arguments: '{"city":' },
        { id: 'b', name: 'get_time', arguments: '{"city":' },
        { id: 'a', arguments: '"Oslo"}' },
        { id: 'b', arguments: '"Rome"}' },
      ),
    ).toEqual([oslo, rome])
  })

  it('adds pieces without any mark to the latest call', () => {
    expect(
      assemble(
        { id: 'a', name: 'get_weather', arguments: '' },
        { id: '', name: '', arguments: '{"city":' },
        { arguments: '"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('distinguishes two calls by their names', () => {
    expect(
      assemble(
        { name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { name: 'get_time', arguments: '{"city":"Rome"}' },
      ).map((call) => call.name),
    ).toEqual(['get_weather', 'get_time'])
  })

  it('distinguishes two calls of one tool once the first is whole', () => {
    expect(
      assemble(
        { name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { name: 'get_weather', arguments: '{"city":"Rome"}' },
      ).map((call) => call.arguments),
    ).toEqual([{ city: 'Oslo' }, { city: 'Rome' }])
  })

  it('distinguishes calls without arguments by another name, or by being in the same event', () => {
    const names = (...pieces: ToolCallPiece[]) => assemble(...pieces).map((call) => call.name)
    expect(names({ name: 'now', arguments: '' }, { name: 'here', arguments: '' })).toEqual(['now', 'here'])
    const twice = [
      { name: 'now', arguments: '' },
      { name: 'now', arguments: '', isSibling: true },
    ]
    expect(names(...twice)).toEqual(['now', 'now'])
  })
})

describe('ids that lie', () => {
  it('leaves the id empty when none ever comes', () => {
    expect(assemble({ index: 0, name: 'get_weather', arguments: '{"city":"Oslo"}' })).toEqual([
      { ...oslo, id: '' },
    ])
  })

  it('keeps two calls with empty ids', () => {
    expect(
      assemble(
        { index: 0, id: '', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { index: 1, id: '', name: 'get_time', arguments: '{"city":"Rome"}' },
      ),
    ).toEqual([
      { ...oslo, id: '' },
      { ...rome, id: '' },
    ])
  })

  it('takes the real id when it comes late', () => {
    expect(
      assemble(
        { index: 0, id: null, name: 'get_weather', arguments: '{"city":' },
        { index: 0, id: 'a', arguments: '"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('keeps two calls that were given the same id', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 1, id: 'a', name: 'get_time', arguments: '{"city":' },
        { index: 0, id: 'a', arguments: '"Oslo"}' },
        { index: 1, id: 'a', arguments: '"Rome"}' },
      ),
    ).toEqual([oslo, { ...rome, id: 'a' }])
  })

  it('keeps two calls that were given the same id and the same index', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { index: 0, id: 'a', name: 'get_time', arguments: '{"city":"Rome"}' },
      ),
    ).toEqual([oslo, { ...rome, id: 'a' }])
  })

  it('keeps the first id of a server that makes up a new one for every piece', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 0, id: 'x1', arguments: '"Os' },
        { index: 0, id: 'x2', arguments: 'lo"}' },
      ),
    ).toEqual([oslo])
  })

  it('drops the whole call that some servers send once more at the end', () => {
    const whole = { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' }
    expect(assemble(whole, whole)).toEqual([oslo])
    const object = { ...whole, arguments: { city: 'Oslo' } }
    expect(assemble(object, object)).toEqual([oslo])
  })
})

describe('names', () => {
  it('takes a name that comes after the first piece of arguments', () => {
    expect(
      assemble(
        { index: 0, id: 'a', arguments: '{"city":' },
        { index: 0, name: 'get_weather', arguments: '"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('does not double a name that is in every piece', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city"' },
        { index: 0, id: 'a', name: 'get_weather', arguments: ':"Oslo"}' },
        { index: 0, id: 'a', name: 'get_weather', arguments: '' },
      ),
    ).toEqual([oslo])
  })

  it('joins a name that comes in pieces', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_' },
        { index: 0, name: 'weather', arguments: '{"city":"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('reads a name that grows', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_' },
        { index: 0, name: 'get_weather', arguments: '{"city":"Oslo"}' },
      ),
    ).toEqual([oslo])
  })

  it('takes empty names, ids and null arguments of later pieces for absent', () => {
    expect(
      assemble(
        { index: 0, id: 'a', name: 'get_weather', arguments: null },
        { index: 0, id: '', name: '', arguments: '{"city":"Oslo"}' },
        { index: 0, id: null, name: null, arguments: null },
      ),
    ).toEqual([oslo])
  })

  it('drops pieces that bring neither a name nor arguments', () => {
    expect(assemble({ index: 0, id: 'a' })).toEqual([])
  })
})

describe('arguments', () => {
  it('takes an object as the whole of the arguments', () => {
    expect(assemble({ index: 0, id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } })).toEqual([oslo])
  })

  it.each([null, undefined, '', '{}', 'null'])('reads %j as no arguments', (args) => {
    const [call] = assemble({ index: 0, id: 'a', name: 'now', arguments: args })
    expect(call?.arguments).toEqual({})
    expect(call?.argumentsError).toBeUndefined()
  })

  it('refuses arguments that were cut', () => {
    const [call] = assemble({ index: 0, id: 'a', name: 'get_weather', arguments: '{"city":"Osl' })
    expect(call).toMatchObject({ arguments: {}, argumentsRaw: '{"city":"Osl' })
    expect(call?.argumentsError).toContain('not valid JSON')
  })

  it('refuses two objects glued into one call', () => {
    const [call, ...others] = assemble({ index: 0, id: 'a', name: 'f', arguments: '{"a":1}{"a":2}' })
    expect(call?.argumentsError).toBeDefined()
    expect(others).toEqual([])
  })

  it('does not take brackets inside strings for the end of the arguments', () => {
    const calls = assemble(
      { index: 0, id: 'a', name: 'write', arguments: '{"text":"} \\"}' },
      { index: 0, name: 'write', arguments: ' }"}' },
    )
    expect(calls.map((call) => call.arguments)).toEqual([{ text: '} "} }' }])
  })

  it('leaves a broken call behind when the next one starts', () => {
    const calls = assemble(
      { index: 0, name: 'get_weather', arguments: '{"city":"Osl' },
      { index: 0, name: 'send_mail', arguments: '{}' },
    )
    expect(calls.map((call) => [call.name, call.argumentsError !== undefined])).toEqual([
      ['get_weather', true],
      ['send_mail', false],
    ])
  })
})

describe('the deltas of pieces', () => {
  it('numbers the pieces by the call they belong to', () => {
    const assembler = new ToolCallAssembler()
    assembler.add({ index: 0, id: 'a', name: 'f', arguments: '{}' })
    expect(assembler.add({ index: 0, id: 'b', name: 'g', arguments: '{"x"' })).toEqual({
      type: 'toolDelta',
      index: 1,
      id: 'b',
      name: 'g',
      arguments: '{"x"',
    })
  })

  it('gives only whole calls when the stream failed', () => {
    const assembler = new ToolCallAssembler()
    assembler.add({ index: 0, id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' })
    assembler.add({ index: 1, id: 'b', name: 'get_time', arguments: '{"city":"Ro' })
    assembler.add({ index: 2, id: 'c', name: 'now', arguments: '' })
    expect(assembler.finishWhole()).toEqual([oslo])
  })

  it('keeps the extra data of each call in the order of the calls', () => {
    const assembler = new ToolCallAssembler()
    assembler.add({ index: 0, id: 'dropped' })
    assembler.add({ index: 1, id: 'a', name: 'f', extra: { signature: 's' } })
    assembler.add({ index: 2, id: 'b', name: 'g' })
    expect(assembler.extras()).toEqual([{ signature: 's' }, null])
  })
})

it('assembles the same calls wherever the arguments are cut, under every habit of marking', () => {
  const habits: ((call: { id: string; name: string }, order: number, isFirst: boolean) => ToolCallPiece)[] = [
    (call, order, isFirst) => ({ index: order, ...(isFirst && call) }),
    (call, order) => ({ index: order, ...call }),
    (call, _, isFirst) => ({ index: 0, ...(isFirst && call) }),
    (call) => ({ index: 0, ...call }),
    (call, _, isFirst) => (isFirst ? call : {}),
    (call) => call,
    (call, order, isFirst) => ({ index: order, id: '', name: isFirst ? call.name : '' }),
    (call, _, isFirst) => ({ index: 0, name: isFirst ? call.name : null }),
    (call) => ({ name: call.name }),
  ]
  const pieces = fc.array(fc.string({ minLength: 1, maxLength: 12 }), { maxLength: 4 })
  const argument = fc.record({ text: fc.string(), list: pieces })
  fc.assert(
    fc.property(
      fc.array(argument, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...habits),
      fc.integer({ min: 1, max: 9 }),
      (inputs, habit, size) => {
        const assembler = new ToolCallAssembler()
        inputs.forEach((input, order) => {
          const text = JSON.stringify(input)
          for (let at = 0; at < text.length; at += size) {
            const marks = habit({ id: `id${order}`, name: `tool${order}` }, order, at === 0)
            assembler.add({ ...marks, arguments: text.slice(at, at + size) })
          }
        })
        expect(assembler.finish().map((call) => call.arguments)).toEqual(inputs)
      },
    ),
  )
})
