import { expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'

it.each([
  [
    'the official shape',
    { type: 'error', error: { type: 'not_found_error', message: 'model: x' }, request_id: 'req_1' },
    { message: 'model: x', code: 'not_found_error', requestId: 'req_1' },
  ],
  [
    'an error without an outer type',
    { error: { message: 'gone', type: 'invalid_request_error', code: 'not_found' } },
    { message: 'gone', code: 'invalid_request_error' },
  ],
  ['a text', { error: 'no route' }, { message: 'no route' }],
  [
    'a bare message',
    { message: 'The security token is invalid.' },
    { message: 'The security token is invalid.' },
  ],
  [
    "Google's list",
    [{ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED' } }],
    { message: 'Quota exceeded', code: '429' },
  ],
  ['an error with other words', { error: { detail: 'no route' } }, { message: '{"detail":"no route"}' }],
  ['an error that says nothing', { type: 'error' }, { message: 'The provider sent an error.' }],
])('reads %s', (_, body, error) => {
  expect(anthropic.error(body)).toEqual(error)
})

it.each([[{ type: 'ping' }], [{ type: 'message', message: 'x' }], ['text'], [null], [[]]])(
  'takes %j for no error',
  (body) => {
    expect(anthropic.error(body)).toBeUndefined()
  },
)
