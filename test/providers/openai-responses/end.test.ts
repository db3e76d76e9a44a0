import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  completed,
  created,
  decode,
  failed,
  finish,
  kept,
  messageItem,
  type Row,
  response,
  target,
  text,
  textDelta,
  truncated,
} from './responsesFixtures.ts'

describe('the end', () => {
  const problem = { message: 'Busy', code: 'server_error' }
  const busy = failed({ message: 'Busy', retryable: true, code: 'server_error' }, 'failed')
  const no = failed({ message: 'No.', retryable: false, code: 'bad' }, 'failed')
  const ended = (type: string, response?: JsonObject): JsonObject => ({ type, ...(response && { response }) })
  const rows: Row[] = [
    ['is missing', [created()], [response, truncated]],
    ['has no response', [ended('response.completed')], [finish('stop')]],
    ['has no status', [ended('response.completed', {})], [finish('stop')]],
    ['has an older name', [ended('response.done', { status: 'completed' })], [finish('stop')]],
    [
      'has an older name and another status',
      [ended('response.done', { status: 'incomplete' })],
      [finish('length', 'incomplete')],
    ],
    [
      'has a status that is not an end',
      [ended('response.completed', { status: 'queued' })],
      [finish('stop', 'queued')],
    ],
    ['is incomplete by its name', [ended('response.incomplete')], [finish('length', 'incomplete')]],
    [
      'is incomplete by its status',
      [ended('response.completed', { status: 'incomplete' })],
      [finish('length', 'incomplete')],
    ],
    [
      'was cut, and says it is complete',
      [ended('response.completed', { incomplete_details: { reason: 'max_output_tokens' } })],
      [finish('length')],
    ],
    [
      'was filtered, and says it is complete',
      [ended('response.completed', { incomplete_details: { reason: 'content_filter' } })],
      [finish('contentFilter')],
    ],
    [
      'has another reason',
      [ended('response.completed', { incomplete_details: { reason: 'x' } })],
      [finish('stop')],
    ],
    [
      'is not a status in another event',
      [ended('response.in_progress', { status: 'completed' })],
      [truncated],
    ],
    [
      'is a failure in any event',
      [ended('response.created', { status: 'failed' })],
      [
        failed(
          { message: 'The response was failed by the provider.', retryable: false, code: 'failed' },
          'failed',
        ),
      ],
    ],
    ['is an error in any event', [ended('response.in_progress', { error: problem })], [busy]],
    ['is not an empty error', [ended('response.completed', { error: {} })], [finish('stop')]],
    ['is an error beside the response', [{ type: 'response.failed', error: problem }], [busy]],
    [
      'is an error in the response before one beside it',
      [{ type: 'response.failed', error: { message: 'No.' }, response: { error: problem } }],
      [busy],
    ],
    [
      'was cancelled',
      [ended('response.cancelled', {})],
      [
        failed(
          { message: 'The response was cancelled by the provider.', retryable: false, code: 'cancelled' },
          'cancelled',
        ),
      ],
    ],
    ['is an error event', [{ type: 'error', message: 'No.', code: 'bad' }, completed()], [no]],
    ['is an error inside an error event', [{ type: 'error', error: problem }], [busy]],
    ['is an error in an object without a type', [{ error: problem }], [busy]],
    [
      'is a failure without a response',
      [{ type: 'response.failed' }],
      [
        failed(
          { message: 'The response was failed by the provider.', retryable: false, code: 'failed' },
          'failed',
        ),
      ],
    ],
    ['is an error event of the response', [{ type: 'response.error', message: 'No.', code: 'bad' }], [no]],
    [
      'is an error event without words',
      [{ type: 'response.error' }],
      [failed({ message: 'The provider reported an error without a message.', retryable: false }, 'failed')],
    ],
    ['is an error without a type', [{ message: 'No.', code: 'bad' }], [no]],
    ['is an error in an unknown event', [{ type: 'tomorrow', error: { message: 'No.', code: 'bad' } }], [no]],
    [
      'comes once',
      [ended('response.completed'), ended('response.failed'), textDelta(0, 'late')],
      [finish('stop')],
    ],
    [
      'is a whole response',
      [{ object: 'response', id: 'resp_1', status: 'completed' }],
      [response, kept(), finish('stop')],
    ],
    [
      'is a whole response by its fields',
      [{ id: 'resp_1', status: 'completed', output: [messageItem('a')] }],
      [response, text('a'), kept(), finish('stop')],
    ],
    ['is not a list alone', [{ output: [], id: 'resp_1' }], [truncated]],
    ['is not a status alone', [{ status: 'completed' }], [truncated]],
    [
      'is not a whole response that is still written',
      [{ object: 'response', status: 'in_progress' }],
      [truncated],
    ],
    [
      'has counts',
      [ended('response.completed', { usage: { input_tokens: 1, output_tokens: 2 } })],
      [{ type: 'usage', usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }, finish('stop')],
    ],
    [
      'has the id that came first',
      [created('resp_1'), ended('response.completed', { id: 'resp_2' })],
      [response, kept(), finish('stop')],
    ],
  ]
  it.each(rows)('%s', (_, events, expected) => expect(decode(...events)).toStrictEqual(expected))

  it('is not a mark of another protocol, and may be named beside the data', () => {
    const decoder = openaiResponses.decoder(target())
    for (const data of ['[DONE] x', '', 'null', ': ping']) expect(decoder.push({ data })).toStrictEqual([])
    expect(decoder.push({ event: 'response.completed', data: '{}' })).toStrictEqual([finish('stop')])
    expect(decoder.end()).toStrictEqual([])
    const other = openaiResponses.decoder(target())
    expect(other.push({ event: 'error', data: '{"message":"No.","code":"bad"}' })).toStrictEqual([no])
    const broken = openaiResponses.decoder(target())
    expect(broken.push({ data: 'x [DONE]' })).toStrictEqual([
      failed({
        message: 'The provider sent an event that is not valid JSON: x [DONE]',
        code: 'invalid_json',
        retryable: true,
      }),
    ])
  })
})
