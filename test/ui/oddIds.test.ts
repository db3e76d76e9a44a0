/** Ids that JavaScript treats in its own way are ids like others. */
import { expect, test } from 'vitest'
import type { PendingCall } from '../../src/messages/result.ts'
import { readUiRequest } from '../../src/ui/uiMessages/readRequest.ts'

test.each(['__proto__', 'constructor', 'toString'])('a call with the id %s can be decided on', (id) => {
  const call: PendingCall = { type: 'toolCall', id, name: 'erase', arguments: {}, kind: 'approval' }
  const part = {
    type: 'tool-erase',
    toolCallId: id,
    state: 'approval-responded',
    approval: { id, approved: true },
  }
  const asked = readUiRequest({ messages: [{ id: 'm1', role: 'assistant', parts: [part] }] })
  if (!('decide' in asked)) throw new Error('The request holds no decision.')
  expect(Object.keys(asked.decide([call]))).toEqual([id])
})
