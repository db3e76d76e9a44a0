/** Why a stored run is refused: each reason by its own words, and next to each what is still taken. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createActor, type Snapshot } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type ChartName, successor } from '../api/storedRuns.ts'

type Change = [path: string, value: JsonValue | undefined]

/** The value at a path is another one; without a value it is gone. */
const withChange = (stored: JsonObject, [path, value]: Change): JsonObject => {
  const keys = path.split('/')
  const last = keys.pop() ?? ''
  const parent = keys.reduce<JsonValue | undefined>((inner, key) => (inner as JsonObject)[key], stored)
  if (value === undefined) delete (parent as JsonObject)[last]
  else (parent as JsonObject)[last] = value
  return stored
}

/** What is said of a stored run with changes; undefined if it goes on. */
const refusalOf = (file: string, ...changes: Change[]): string | undefined => {
  const text = readFileSync(join(import.meta.dirname, `4.3/${file}.json`), 'utf8')
  const snapshot = changes.reduce(withChange, JSON.parse(text)) as JsonObject & Snapshot<unknown>
  const { agent } = successor(file.split('.')[0] as ChartName)
  const { status, error } = createActor(agent.machine, { snapshot, input: {} }).getSnapshot()
  if (status !== 'error') return undefined
  expect(error).toBeInstanceOf(ConfigurationError)
  return String(error).replace(/^.* can continue from: /, '')
}

const expectRefusal = (flaw: string | undefined, file: string, ...changes: Change[]): void => {
  const found = refusalOf(file, ...changes)
  if (flaw?.endsWith('…')) expect(found?.slice(0, flaw.length - 1)).toBe(flaw.slice(0, -1))
  else expect(found).toBe(flaw)
}

const call = (id: string, name = 'ask', args: JsonObject = {}): JsonObject => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
})
const resultOf = (id: string): JsonObject => ({ type: 'toolResult', id, name: 'free', result: 'ok' })
const user = (text: string): JsonObject => ({ role: 'user', parts: [{ type: 'text', text }] })

const [approval, tools, outside] = ['plain.AwaitingApproval', 'plain.ToolExecution', 'plain.AwaitingTools']
const executor = 'children/toolExecutor/snapshot'
const approver = 'children/approver/snapshot'
const round = 'context/round'

describe('a stored run', () => {
  test.each<[flaw: string | undefined, file: string, ...changes: Change[]]>([
    // The whole.
    ['its status is "stopped".', approval, ['status', 'stopped']],
    ['its status is missing.', approval, ['status', undefined]],
    ['it has no context.', approval, ['context', []]],
    [
      'its version is "4.3.1", and this release reads versions 4.0 to 4.3.',
      approval,
      ['context/version', '4.3.1'],
    ],
    [
      'its version is "v4.3", and this release reads versions 4.0 to 4.3.',
      approval,
      ['context/version', 'v4.3'],
    ],
    [
      'its version is "14.3", and this release reads versions 4.0 to 4.3.',
      approval,
      ['context/version', '14.3'],
    ],
    [
      'its version is "4.4": a newer release wrote it, and this one reads versions up to 4.3.',
      approval,
      ['context/version', '4.4'],
    ],
    [undefined, approval],
    // The state, and who works there.
    ['it is done, but its state is "AwaitingApproval".', approval, ['status', 'done']],
    [undefined, approval, ['status', 'done'], ['value', 'Complete']],
    [undefined, approval, ['status', 'done'], ['value', 'Failed']],
    [undefined, approval, ['status', 'done'], ['value', 'Aborted']],
    ['its state is "Complete", in which no run can be stored.', approval, ['value', 'Complete']],
    ['its state is "toString", in which no run can be stored.', approval, ['value', 'toString']],
    ['its state is missing, in which no run can be stored.', approval, ['value', undefined]],
    [
      'its state is {"Accumulating":"Requesting"}, but there is no model in its children.',
      'plain.Requesting',
      ['children', {}],
    ],
    [
      'its state is {"Accumulating":"Streaming"}, but there is no model in its children.',
      'plain.Streaming',
      ['children', null],
    ],
    [
      'its state is {"Accumulating":"BackingOff"}, but there is no timer in its children.',
      'plain.BackingOff',
      ['children', {}],
    ],
    [
      'its state is {"ToolExecution":"Working"}, but there is no toolExecutor in its children.',
      tools,
      ['children', {}],
    ],
    [
      'its state is {"Compacting":"Summarising"}, but there is no summariser in its children.',
      'plain.Summarising',
      ['children', {}],
    ],
    ['its state is "AwaitingApproval", which has no child "model".', approval, ['children/model', {}]],
    ['its state is "AwaitingTools", which has no child "approver".', outside, ['children/approver', {}]],
    ['its approver is not a stored actor.', 'approver.AwaitingApproval', ['children/approver', {}]],
    ['its approver is not a stored actor.', 'approver.AwaitingApproval', ['children/approver/src', 'model']],
    ['its approver is not a stored actor.', 'approver.AwaitingApproval', ['children/approver/snapshot', []]],
    [undefined, 'approver.AwaitingApproval', ['children', {}]],
    // What the children wait for.
    [
      'what it waits for has ended without a result.',
      'plain.Requesting',
      ['children/model/snapshot/status', 'done'],
    ],
    [
      'what it waits for has ended without a result.',
      'plain.BackingOff',
      ['children/timer/snapshot/status', 'done'],
    ],
    [
      'what it waits for has ended without a result.',
      'plain.Summarising',
      ['children/summariser/snapshot/status', 'done'],
    ],
    ['its model is asked something else.', 'plain.Requesting', ['children/model/snapshot/input/step', 2]],
    ['its timer waits for another moment.', 'plain.BackingOff', ['children/timer/snapshot/input/at', 1]],
    // The conversation.
    ['its messages are not the end of its history.', approval, ['context/messages', [user('Go')]]],
    [
      'its history does not end with a user message.',
      'plain.Requesting',
      ['context/history', []],
      ['context/messages', []],
      ['children/model/snapshot/input/messages', []],
    ],
    [
      'its last message has no calls.',
      approval,
      ['context/history/1/parts', [{ type: 'text', text: 'No.' }]],
      ['context/messages/1/parts', [{ type: 'text', text: 'No.' }]],
    ],
    ['history[0] is not a message. …', approval, ['context/history/0', 'Go']],
    [
      'its history is not valid: …',
      approval,
      ['context/history/0/parts', [resultOf('z')]],
      ['context/messages/0/parts', [resultOf('z')]],
    ],
    // The round.
    ['it has a tool round while the model answers.', 'plain.Requesting', [`${round}/cleared`, ['a']]],
    ['it has a tool round while the model answers.', 'plain.AtLimit', [`${round}/id`, 'x']],
    [undefined, 'plain.Requesting', [`${round}/waitingSince`, 5]],
    ['"z" is not a call of its last message.', approval, [`${round}/pendingApprovals`, ['a', 'b', 'z']]],
    ['"z" is not a call of its last message.', approval, [`${round}/cleared`, ['f', 'x', 'z']]],
    ['"z" is not a call of its last message.', approval, [`${round}/external`, ['z']]],
    ['"z" is not a call of its last message.', approval, [`${round}/ending`, ['z']]],
    ['"z" is not a call of its last message.', approval, [`${round}/inDoubt`, ['z']]],
    ['"z" is not a call of its last message.', approval, [`${round}/edited`, { z: {} }]],
    ['"z" is not a call of its last message.', approval, [`${round}/interruptions`, { z: 1 }]],
    ['"z" is not a call of its last message.', approval, [`${round}/runs`, { z: {} }]],
    ['"z" is not a call of its last message.', approval, [`${round}/waiting`, { z: [] }]],
    ['"z" is not a call of its last message.', approval, [`${round}/commands`, { z: [] }]],
    ['"z" is not a call of its last message.', approval, [`${round}/started`, [['z']]]],
    ['"z" is not a call of its last message.', approval, [`${round}/results`, [[resultOf('z')]]]],
    ['it is not clear what happens to the call "b".', approval, [`${round}/pendingApprovals`, ['a']]],
    ['it is not clear what happens to the call "b".', approval, [`${round}/cleared`, ['f', 'x', 'b']]],
    [
      'it is not clear what happens to the call "b".',
      approval,
      [`${round}/results`, [[{ ...resultOf('b'), name: 'ask' }]]],
    ],
    ['it is not clear what happens to the call "b".', outside, [`${round}/results/0`, []]],
    ['a call that may not run was started.', approval, [`${round}/started`, [['b']]]],
    ['a call that may not run was started.', tools, [`${round}/started`, [['a', 'b']]]],
    ['a call of its round is listed twice.', approval, [`${round}/cleared`, ['f', 'x', 'f']]],
    [
      'a call of its round is listed twice.',
      tools,
      [`${round}/results/1`, [{ ...resultOf('b'), name: 'ask' }]],
    ],
    // A call that was started and has no result is in doubt.
    [undefined, tools, [`${round}/started`, [['a', 'f']]]],
    [undefined, tools, [`${round}/started`, []]],
    ['the arguments of a call that was not approved were changed.', approval, [`${round}/edited`, { b: {} }]],
    [undefined, approval, [`${round}/edited`, { f: {} }]],
    [undefined, approval, [`${round}/edited`, { b: {} }], [`${round}/inDoubt`, ['b']]],
    [undefined, tools, [`${round}/edited`, { b: {} }]],
    ['its state is "AwaitingTools", and 2 calls wait for an approval.', approval, ['value', 'AwaitingTools']],
    [
      'its state is "AwaitingApproval", and 0 calls wait for an approval.',
      outside,
      ['value', 'AwaitingApproval'],
    ],
    [
      'it waits for external tools, but no call of one is open.',
      outside,
      [`${round}/results/2`, [{ ...resultOf('x'), name: 'outside' }]],
    ],
    // Who approves.
    [
      'its approver is asked about other calls.',
      'approver.AwaitingApproval',
      [`${approver}/calls/1/arguments`, { n: 3 }],
    ],
    [
      'its approver is asked about other calls.',
      'approver.AwaitingApproval',
      [`${approver}/calls/1/id`, 'c'],
    ],
    ['its approver is asked about other calls.', 'approver.AwaitingApproval', [`${approver}/decided`, ['b']]],
    [
      'its approver is asked about other calls.',
      'approver.AwaitingApproval',
      [`${approver}/calls/1`, call('f', 'free')],
    ],
    ['approver.decided must be a list, not …', 'approver.AwaitingApproval', [`${approver}/decided`, {}]],
    // Who runs the tools.
    ['toolExecutor.status must be …', tools, [`${executor}/status`, 'done']],
    ['toolExecutor.runs must be an object…', tools, [`${executor}/runs`, undefined]],
    ['toolExecutor.runs.a must be an object…', tools, [`${executor}/runs`, { a: 1 }]],
    ['its tool executor has a run of "z", which is not its call.', tools, [`${executor}/runs`, { z: {} }]],
    [undefined, tools, [`${executor}/runs`, { a: {} }]],
    // The shape.
    ['step must be a whole number, …', approval, ['context/step', -1]],
    ['options.limits must be limits.', approval, ['context/options/limits', { steps: 'all' }]],
    ['options.system must be a string…', approval, ['context/options/system', 1]],
    [undefined, approval, ['context/options/system', 'Be brief.']],
    ['round.interruptions.a must be a whole number, …', approval, [`${round}/interruptions`, { a: 0.5 }]],
    ['round.interruptions must be an object…', approval, [`${round}/interruptions`, []]],
    ['round.waiting.a[0] is not a part of type toolCall.', tools, [`${round}/waiting`, { a: [{}] }]],
    ['round.waiting.a[0].kind must be …', tools, [`${round}/waiting`, { a: [call('a/x')] }]],
    ['round.commands.a[0].type must be …', tools, [`${round}/commands`, { a: [{ type: 'abort' }] }]],
    [
      'round.commands.a[0].callId must be a string…',
      tools,
      [`${round}/commands`, { a: [{ type: 'tool.reject' }] }],
    ],
    ['round.results[0][0]: …', outside, [`${round}/results/0/0/result`, 5]],
    ['totals.finishReason must be …', approval, ['context/totals/finishReason', 'tired']],
    ['deadlineAt must be a finite number…', approval, ['context/deadlineAt', 'soon']],
    ['failure.message must be a string…', approval, ['context/failure', { name: 'Error' }]],
  ])('%s', expectRefusal)
})

describe('a stored chart of phases', () => {
  const step = 'reasoning.Requesting'
  test.each<[flaw: string | undefined, file: string, ...changes: Change[]]>([
    [undefined, step],
    [undefined, step, ['value', { Evidence: 'Waiting' }]],
    [undefined, step, ['status', 'done'], ['value', 'Complete'], ['children', {}]],
    [undefined, step, ['status', 'done'], ['value', 'Failed'], ['children', {}]],
    [undefined, step, ['status', 'done'], ['value', 'Aborted'], ['children', {}]],
    ['its status is done, and its state {"Evidence":"Working"}.', step, ['status', 'done']],
    ['its status is active, and its state "Complete".', step, ['value', 'Complete']],
    ['its status is active, and its state "Evidence".', step, ['value', 'Evidence']],
    ['its status is active, and its state {"Evidence":"Resting"}.', step, ['value', { Evidence: 'Resting' }]],
    [
      'its status is active, and its state {"Elsewhere":"Working"}.',
      step,
      ['value', { Elsewhere: 'Working' }],
    ],
    [
      'its status is active, and its state {"constructor":"Working"}.',
      step,
      ['value', { constructor: 'Working' }],
    ],
    ['its status is active, and its state missing.', step, ['value', undefined]],
    ['its state is "Evidence", but nothing runs there.', step, ['children', {}]],
    ['its state is "Evidence", but nothing runs there.', step, ['children', null]],
    ['its state is "Evidence", but nothing runs there.', step, ['children/run/src', 'Analysis']],
    ['its state is "Evidence", but nothing runs there.', step, ['children/run/snapshot/status', 'stopped']],
    ['its state is "Evidence", which has no child "step".', step, ['children/step', {}]],
    ['answer must be a string…', step, ['context/answer', 1]],
    ['shown must be a string…', step, ['context/shown', null]],
    ['messages[0] is not a message. …', step, ['context/messages', [1]]],
  ])('%s', expectRefusal)
})
