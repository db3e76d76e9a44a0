/** A command may come from a browser: what a run gets of it is exact, and anything else is refused with a reason. */
import { describe, expect, test } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { checkCommand, storedCommand } from '../../src/agent/commands.ts'
import { isApplicable } from '../../src/durable/commands.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const waits = (id: string, kind: PendingCall['kind'], name = 'wipe'): PendingCall => ({
  type: 'toolCall',
  id,
  name,
  arguments: {},
  kind,
})

const pending = [waits('a', 'approval'), waits('q', 'answer', 'ask')]
const atLimit = [waits('limit', 'limit', 'limit')]

describe('a run gets of a command', () => {
  test.each([
    ['an abort', { type: 'abort' }, pending],
    ['its reason', { type: 'abort', reason: 'enough' }, pending],
    ['a reason of nothing', { type: 'abort', reason: '' }, []],
    ['a text', { type: 'steer', text: 'Be quick.' }, []],
    ['a compaction', { type: 'compact' }, []],
    ['an approval', { type: 'tool.approve', callId: 'a' }, pending],
    [
      'all of an approval',
      {
        type: 'tool.approve',
        callId: 'a',
        arguments: { file: 'b2' },
        remember: 'tool',
        question: 'q1',
      },
      pending.map((call) => ({ ...call, question: 'q1' })),
    ],
    ['an approval of a limit', { type: 'tool.approve', callId: 'limit' }, atLimit],
    ['a rejection', { type: 'tool.reject', callId: 'a' }, pending],
    ['a rejection with its reason', { type: 'tool.reject', callId: 'q', reason: 'no' }, pending],
    ['an answer', { type: 'tool.answer', callId: 'q', result: { yes: true } }, pending],
    ['an answer that is an error', { type: 'tool.answer', callId: 'q', result: 'x', isError: true }, pending],
    ['another limit', { type: 'tool.approve', callId: 'limit', arguments: { cost: 5 } }, atLimit],
    ['the end', { type: 'tool.reject', callId: 'limit' }, atLimit],
  ])('%s, and nothing else', (_, command, calls) => {
    expect(checkCommand(command, calls)).toEqual(command)
    expect(checkCommand({ ...command, other: 1 }, calls)).toEqual(command)
    expect(isApplicable(command as AgentCommand, calls)).toBe(true)
  })

  test.each([
    [
      'an abort for a reason that is not a string',
      { type: 'abort', reason: 5 },
      'reason of the command must',
    ],
    [
      'a rejection for such a reason',
      { type: 'tool.reject', callId: 'a', reason: [] },
      'reason of the command',
    ],
    ['a steer without a text', { type: 'steer' }, 'The text of the command must be a string.'],
    ['a rejection of no call', { type: 'tool.reject' }, 'The callId of the command must be a string.'],
    [
      'an answer to no call',
      { type: 'tool.answer', result: 1 },
      'The callId of the command must be a string.',
    ],
    ['an approval of an answer', { type: 'tool.approve', callId: 'q' }, 'No call "q" waits for an approval:'],
    [
      'an answer to an approval',
      { type: 'tool.answer', callId: 'a', result: 1 },
      'No call "a" waits for an answer:',
    ],
    ['a rejection of a call that is not there', { type: 'tool.reject', callId: 'x' }, 'No call "x" waits'],
    [
      'a question that is not a string',
      { type: 'tool.approve', callId: 'a', question: 5 },
      'The question of the command must be a string.',
    ],
    ['a higher limit where there is none', { type: 'tool.approve', callId: 'limit' }, 'No call "limit"'],
    ['the end where there is no limit', { type: 'tool.reject', callId: 'limit' }, 'No call "limit"'],
    ['a command of an older release', { type: 'limit.stop' }, '"limit.stop" is not a command'],
    ['no type', {}, 'undefined is not a command: use abort'],
    ['a list', [], 'A command is an object with a type.'],
  ])('never %s', (_, command, message) => {
    expect(() => checkCommand(command, pending)).toThrow(ConfigurationError)
    expect(() => checkCommand(command, pending)).toThrow(message)
    expect(isApplicable(command as never, pending)).toBe(false)
  })

  test.each([
    ['limits that are not amounts', { cost: 'much' }],
    ['limits of something else', { dogs: 5 }],
    ['limits without end, which JSON cannot hold', { steps: Number.POSITIVE_INFINITY }],
  ])('never %s', (_, limits) => {
    expect(() => checkCommand({ type: 'tool.approve', callId: 'limit', arguments: limits }, atLimit)).toThrow(
      'To raise a limit, pass the new limits as arguments, such as { cost: 5 }.',
    )
  })

  test('never an answer to the limit of another call', () => {
    const calls = [waits('a/limit', 'limit')]
    expect(() => checkCommand({ type: 'tool.reject', callId: 'limit' }, calls)).toThrow(
      'No call "limit" waits for an approval or answer: pending are a/limit (limit).',
    )
  })

  test('the meaning of a command that an older release has stored', () => {
    const [yes, no] = [
      { type: 'tool.approve', callId: 'limit' },
      { type: 'tool.reject', callId: 'limit' },
    ]
    expect(storedCommand({ type: 'limit.raise' })).toEqual(yes)
    expect(storedCommand({ type: 'limit.raise', limits: { cost: 5 } })).toEqual({
      ...yes,
      arguments: { cost: 5 },
    })
    expect(storedCommand({ type: 'limit.stop' })).toEqual(no)
    expect(storedCommand({ type: 'steer', text: 'Be quick.' })).toEqual({ type: 'steer', text: 'Be quick.' })
  })

  test('a text up to a size', () => {
    const around = JSON.stringify({ type: 'steer', text: '' }).length
    const most = 16 * 1024 * 1024
    const steer = (length: number) => ({ type: 'steer', text: 'x'.repeat(length - around) })
    expect(checkCommand(steer(most), [])).toMatchObject({ type: 'steer' })
    expect(() => checkCommand(steer(most + 1), [])).toThrow(`The command is longer than ${most} characters.`)
  })

  test('a copy', () => {
    const given = { type: 'tool.approve', callId: 'a', arguments: { file: 'b' } }
    const command = checkCommand(given, pending)
    given.arguments.file = 'changed'
    expect(command).toMatchObject({ arguments: { file: 'b' } })
  })
})

describe('a run at a limit', () => {
  const asking = async () => {
    const path = storeFile()
    const turns = [[callOf('c1', 'a1')], [callOf('c2', 'a2')], 'Done.']
    const { agent, wiped } = wiping(turns, { limits: { steps: 1 }, atLimit: 'ask' })
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe them', { id: 'job' })
    expect(await run.result).toMatchObject({
      finishReason: 'limit',
      pendingApproval: { calls: [{ id: 'limit', kind: 'limit' }] },
    })
    return { runs, run, wiped }
  }

  test('continues as far as it may', async () => {
    const { runs, run, wiped } = await asking()
    expect(await run.info()).toMatchObject({ status: 'waiting', state: 'AtLimit' })
    await runs.send('job', { type: 'tool.approve', callId: 'limit', arguments: { steps: 2 } })
    expect((await run.result).pendingApproval?.calls).toMatchObject([{ arguments: { used: 2, allowed: 2 } }])
    expect(wiped).toEqual(['a1', 'a2'])
    await runs.send('job', { type: 'tool.approve', callId: 'limit' })
    expect((await run.result).output).toBe('Done.')
  })

  test('ends when it is stopped', async () => {
    const { runs, run, wiped } = await asking()
    await runs.send('job', { type: 'tool.reject', callId: 'limit' })
    expect(await run.result).toMatchObject({ finishReason: 'maxSteps' })
    expect(wiped).toEqual(['a1'])
  })
})

describe('two that decide on the calls of a run', () => {
  test('decide on each of them once, before the run gets any of it', async () => {
    const path = storeFile()
    const { agent } = wiping([[callOf('c1', 'b1'), callOf('c2', 'b2')]])
    const owner = await opened(path, { agent })
    await (await owner.start('agent', 'Wipe both', { id: 'job' })).result
    await owner.close()
    const guest = await opened(path, {})
    await guest.send('job', { type: 'steer', text: 'Be quick.' })
    await guest.send('job', { type: 'tool.reject', callId: 'c2' })
    await expect(guest.send('job', { type: 'tool.approve', callId: 'c2' })).rejects.toThrow(
      'No call "c2" waits for an approval: pending are c1 (approval).',
    )
    await guest.send('job', { type: 'tool.approve', callId: 'c1' })
    const later = wiping(['Done.'])
    const next = await opened(path, { agent: later.agent })
    const { messages, output } = (await (await next.get('job'))?.result) ?? {}
    expect(output).toBe('Done.')
    expect(messages?.flatMap(toolResultsOf)).toMatchObject([{ result: 'wiped b1' }, { rejected: true }])
    await expect(guest.send('job', { type: 'steer', text: 'And?' })).rejects.toThrow(
      'The run "job" is over (complete): start a new one, or fork it.',
    )
  })
})
