/** A stored run starts nothing that is not its own: what its children do follows from its own data. */
import { expect, test } from 'vitest'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { rejection } from '../engine/watching.ts'
import { runIn, type StateName, successor } from './storedRuns.ts'

const executor = { status: 'active', runs: { b: {} } }

const changed = (snapshot: JsonObject, path: string, value: JsonValue): JsonObject => {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const parent = keys.reduce<JsonValue | undefined>((inner, key) => (inner as JsonObject)[key], snapshot)
  ;(parent as JsonObject)[last] = value
  return snapshot
}

test.each<[string, StateName, string, JsonValue]>([
  [
    'a tool executor of its own',
    'AwaitingApproval',
    'children.toolExecutor',
    { src: 'toolExecutor', snapshot: executor },
  ],
  [
    'one under another name',
    'AwaitingApproval',
    'children.evil',
    { src: 'toolExecutor', snapshot: executor },
  ],
  [
    'one as its approver',
    'AwaitingApproval',
    'children.approver',
    { src: 'toolExecutor', snapshot: executor },
  ],
  ['a second one', 'ToolExecution', 'children.evil', { src: 'toolExecutor', snapshot: executor }],
  ['one beside its model', 'Streaming', 'children.evil', { src: 'toolExecutor', snapshot: executor }],
  ['a call that waits as started', 'AwaitingApproval', 'context.round.started', [['b']]],
  ['changed arguments for a call that waits', 'AwaitingApproval', 'context.round.edited', { b: { n: 3 } }],
  ['another request', 'Requesting', 'children.model.snapshot.input.messages', []],
  ['another moment', 'BackingOff', 'children.timer.snapshot.input.at', null],
])('with %s is refused', async (_, state, path, value) => {
  const { agent, ran } = successor('plain')
  const snapshot = changed(await runIn('plain', state), path, value)
  await rejection(agent.start({ snapshot: snapshot as never }).result, ConfigurationError)
  expect(ran).toEqual([])
})

test('the approver of a stored run is asked about what would run, and nothing else', async () => {
  const snapshot = await runIn('approver', 'AwaitingApproval')
  const { agent, ran } = successor('approver')
  const other = changed(snapshot, 'children.approver.snapshot.calls.0.arguments', { n: 9 })
  await rejection(agent.start({ snapshot: other as never }).result, ConfigurationError)
  expect(ran).toEqual([])
})
