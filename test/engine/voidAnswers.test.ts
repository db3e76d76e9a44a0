/** An answer that starts over: what listeners get depends on what was shown of it. */
import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { AbortedError, type ErrorData } from '../../src/messages/errors.ts'
import { type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { talk } from './compactedRuns.ts'
import { recorder } from './sampleTools.ts'
import { idle, rejection } from './watching.ts'

const text: ScriptStep = { text: 'Hal' }
const piece: ScriptStep = { deltas: [{ type: 'toolDelta', index: 0, name: 'echo', arguments: '{"a' }] }

const overflow = { message: 'too long', code: 'context_overflow', retryable: false }
const busy = { message: 'busy', retryable: true }
const broken = { message: 'broken', retryable: false }

/** A first answer that breaks off, and what listeners get in place of it. */
const ran = async (shown: ScriptStep[], error: Partial<ErrorData>, midStream: boolean) => {
  const model = scriptedModel([[...shown, { error }], ...(error === overflow ? ['A summary.'] : []), 'Whole'])
  const fallback = error === broken ? [scriptedModel(['Whole'], { model: 'second' })] : []
  const options: AgentOptions = { fallback, retry: { maxRetries: 1, initialDelayMs: 1, midStream } }
  const run = new Agent(model, options).start('Go on.', { history: error === overflow ? talk : [] })
  const emitted: unknown[] = []
  run.on('*', (event) => {
    if (event.type === 'retry' || event.type === 'fallback')
      emitted.push(`${event.type} restart: ${event.restart}, ${event.error?.message}`)
    if (event.type === 'chunk' && event.metadata.restart === true) emitted.push('restart chunk')
    if (event.type === 'compaction') emitted.push('compaction')
  })
  const output = await run.result.then(
    (result) => result.output,
    (reason: Error) => reason.message,
  )
  return { emitted, output }
}

describe('an answer that starts over', () => {
  test.each<[string, string, Partial<ErrorData>, ScriptStep[], boolean, unknown[]]>([
    ['a retry', 'nothing', busy, [], false, ['retry restart: false, busy']],
    ['a retry', 'pieces of a call', busy, [piece], false, ['retry restart: true, busy']],
    ['a retry', 'text', busy, [text], true, ['retry restart: true, busy', 'restart chunk']],
    ['a fallback', 'nothing', broken, [], false, ['fallback restart: false, broken']],
    ['a fallback', 'pieces of a call', broken, [piece], false, ['fallback restart: true, broken']],
    ['a fallback', 'text', broken, [text], true, ['fallback restart: true, broken', 'restart chunk']],
    ['a compaction', 'nothing', overflow, [], false, ['compaction']],
    [
      'a compaction',
      'pieces of a call',
      overflow,
      [piece],
      false,
      ['retry restart: true, too long', 'compaction'],
    ],
    [
      'a compaction',
      'text',
      overflow,
      [text],
      true,
      ['retry restart: true, too long', 'restart chunk', 'compaction'],
    ],
  ])('by %s, after %s was shown', async (_, __, error, shown, midStream, emitted) => {
    expect(await ran(shown, error, midStream)).toEqual({ emitted, output: 'Whole' })
  })

  test.each([
    ['a retry', busy],
    ['a fallback', broken],
    ['a compaction', overflow],
  ])('does so only if it was asked for: %s does not repeat text by itself', async (_, error) => {
    expect(await ran([text], error, false)).toEqual({ emitted: [], output: error.message })
  })
})

test('a run that ends while it is compacted keeps nothing of the answer that starts over', async () => {
  const call: ScriptStep = { toolCall: { id: 'a', name: 'echo' } }
  const model = scriptedModel([[call], [text, { error: overflow }], [{ hang: true }]])
  const run = new Agent(model, { tools: [recorder().tool], retry: { midStream: true } }).start('Go on.', {
    history: talk,
  })
  run.result.catch(() => {})
  await idle()
  expect(run.state).toBe('Compacting')
  run.abort()
  const error = await rejection(run.result, AbortedError)
  expect(error.partial).toMatchObject({ output: '', messages: [{}, {}, {}, { parts: [] }] })
})
