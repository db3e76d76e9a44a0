import { describe, expect, it } from 'vitest'
import { conversationOf, opaqueOf, wireIdsOf } from '../../../providers/wire/request.ts'
import type { ChatMessage } from '../../../src/messages/messages.ts'

const said = (role: ChatMessage['role'], text: string): ChatMessage => ({
  role,
  parts: [{ type: 'text', text }],
})
const called = (providerCallIds: unknown, ...ids: string[]): ChatMessage =>
  ({
    role: 'model',
    parts: ids.map((id) => ({ type: 'toolCall', id, name: 'one', arguments: {} })),
    metadata: { providerCallIds },
  }) as ChatMessage

describe('a conversation', () => {
  it('has one system text from all places of the history, and the turns without it', () => {
    const hello = said('user', 'Hello')
    const answer = said('model', 'Hi')
    expect(
      conversationOf([said('system', 'One.'), hello, said('system', ''), answer, said('system', 'Two.')]),
    ).toEqual({ system: 'One.\n\nTwo.', turns: [hello, answer] })
  })

  it('leaves out messages without content, unless they carry data of a provider', () => {
    const opaque: ChatMessage = { role: 'model', parts: [], metadata: {} }
    expect(conversationOf([{ role: 'user', parts: [] }, opaque])).toEqual({ system: '', turns: [opaque] })
  })
})

describe('opaque data', () => {
  const data = { provider: 'acme', id: 'r1' }
  const withMetadata = (metadata: ChatMessage['metadata']): ChatMessage => ({
    role: 'model',
    parts: [],
    ...(metadata && { metadata }),
  })

  it.each([
    ['of this protocol and provider', withMetadata({ wire: data }), data],
    ['of another provider', withMetadata({ wire: { ...data, provider: 'other' } }), undefined],
    ['of no provider', withMetadata({ wire: { id: 'r1' } }), undefined],
    ['of another protocol', withMetadata({ other: data }), undefined],
    ['that is not an object', withMetadata({ wire: 'acme' }), undefined],
    ['that is missing', withMetadata(undefined), undefined],
  ])('%s', (_, message, expected) => {
    expect(opaqueOf(message, 'wire', 'acme')).toEqual(expected)
  })

  it('is never inherited', () => {
    expect(opaqueOf(withMetadata({}), 'constructor', 'Object')).toBeUndefined()
  })
})

describe('the ids of calls on the wire', () => {
  it('are those of the provider where the engine had to give others', () => {
    const wireId = wireIdsOf([
      said('user', 'Go'),
      called({ a: 'call_1', c: 'call_3' }, 'a', 'b'),
      called({ d: 7, e: 'call_1' }, 'd', 'e'),
      called('a', 'f'),
    ])
    expect(['a', 'b', 'c', 'd', 'e', 'f', 'toString'].map(wireId)).toEqual([
      'call_1',
      'b',
      // It names no call of its message.
      'c',
      'd',
      'call_1',
      'f',
      'toString',
    ])
  })

  it('are replaced by a hash where the provider would refuse them', () => {
    const rule = { pattern: /^[a-z]{3}$/, length: 9 }
    const wireId = wireIdsOf([called({ a: 'foobar' }, 'a')], rule)
    // The value that the inventors of FNV-1a publish for this text.
    const hash = 0x85944171f73967e8n.toString(36)
    expect(hash).toHaveLength(13)
    expect(wireId('abc')).toBe('abc')
    expect(wireId('foobar')).toBe(hash.slice(-9))
    expect(wireId('a')).toBe(hash.slice(-9))
    expect(wireIdsOf([], { ...rule, length: 13 })('foobar')).toBe(hash)
  })

  it('are as long as the rule says, also where the hash is small', () => {
    const wireId = wireIdsOf([], { pattern: /^never$/, length: 13 })
    const ids = Array.from({ length: 40 }, (_, index) => wireId(`${index}-id`))
    expect(ids.filter((id) => id.length !== 13)).toEqual([])
    expect(ids.some((id) => id.startsWith('0'))).toBe(true)
    expect(new Set(ids).size).toBe(40)
  })
})
