/** What is not a message, and why: for whatever a store, a browser or a user gives. */
import { expect, test } from 'vitest'
import { messageFlaw } from '../../src/messages/messageFlaw.ts'

const user = (...parts: unknown[]) => ({ role: 'user', parts })
const text = { type: 'text', text: 'Go' }
const data = { type: 'data', mimeType: 'image/png', data: 'AAAA' }
const link = { type: 'link', url: 'https://example.com' }
const call = { type: 'toolCall', id: 'a', name: 'add', arguments: {} }
const result = { type: 'toolResult', id: 'a', name: 'add', result: '3' }
const notText = (field: string, type: string) => `The ${field} of one of its ${type} parts is not a string.`

test.each([
  ['system', { role: 'system', parts: [text] }],
  ['model', { role: 'model', parts: [text, call] }],
  ['user', user(text, data, link, result)],
  ['unknown', user()],
  ['result with files', user({ ...result, parts: [data, link] })],
  ['result without files', user({ ...result, parts: [] })],
  ['field more', { ...user({ ...text, colour: 'red' }), colour: 'red' }],
])('a message of %s is one', (_, message) => {
  expect(messageFlaw(message)).toBeUndefined()
})

const circular: Record<string, unknown> = { role: 'user' }
circular.parts = [circular]

test.each([
  [undefined, 'It is not plain JSON: it holds undefined, which JSON cannot hold.'],
  [() => {}, 'It is not plain JSON: it holds a function, which JSON cannot hold.'],
  [circular, 'It is not plain JSON: it holds data that is circular, or nests deeper than 256 levels.'],
  [
    null,
    "It is not a message: messages are objects with a role and parts. Write userMessage('…') or modelMessage('…').",
  ],
  [
    'Go',
    "It is not a message: messages are objects with a role and parts. Write userMessage('…') or modelMessage('…').",
  ],
  [
    [text],
    "It is not a message: messages are objects with a role and parts. Write userMessage('…') or modelMessage('…').",
  ],
  [{ parts: [text] }, 'undefined is not a role: use system, user or model.'],
  [
    { role: 'tool', parts: [text] },
    '"tool" is not a role: use system, user or model. The result of a tool is a toolResult part of a user message.',
  ],
  [{ role: 'user' }, 'It has no list of parts.'],
  [{ role: 'user', parts: 'Go' }, 'It has no list of parts.'],
  [user('Go'), 'One of its parts is not an object.'],
  [user(text, null), 'One of its parts is not an object.'],
  [user({ text: 'Go' }), 'undefined is not a type of part.'],
  [user(text, { type: 'toString' }), '"toString" is not a type of part.'],
  [user({ ...text, text: 1 }), notText('text', 'text')],
  [user({ ...data, mimeType: null }), notText('mimeType', 'data')],
  [user({ ...data, data: [1] }), notText('data', 'data')],
  [user({ ...link, url: {} }), notText('url', 'link')],
  [user({ ...call, id: 1 }), notText('id', 'toolCall')],
  [user({ ...call, name: 1 }), notText('name', 'toolCall')],
  [user({ ...call, arguments: '{}' }), 'The arguments of its call of "add" are not an object.'],
  [user({ ...call, arguments: [] }), 'The arguments of its call of "add" are not an object.'],
  [user({ ...result, id: 1 }), notText('id', 'toolResult')],
  [user({ ...result, name: 1 }), notText('name', 'toolResult')],
  [user({ ...result, result: { sum: 3 } }), notText('result', 'toolResult')],
  [user({ ...result, parts: data }), 'The parts of its result of "add" are not a list.'],
  [user({ ...result, parts: [data, text] }), 'A part of its result of "add" is neither data nor a link.'],
  [user({ ...result, parts: [null] }), 'A part of its result of "add" is neither data nor a link.'],
  [user({ ...result, parts: [link, { ...data, data: 1 }] }), notText('data', 'data')],
])('%# is not a message', (value, flaw) => {
  expect(messageFlaw(value)).toBe(flaw)
})
