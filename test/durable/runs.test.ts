/** Promises of a stored run to those who start it, ask about it and decide on it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { sqlite } from '../../src/durable/index.ts'
import { promptText } from '../../src/durable/runOptions.ts'
import { notStarted } from '../../src/durable/sqlite/runRow.ts'
import { openStore } from '../../src/durable/sqlite/sqlite.ts'
import { AbortedError, ConflictError, ModelError } from '../../src/messages/errors.ts'
import {
  linkPart,
  modelMessage,
  textOf,
  textPart,
  toolResultsOf,
  userMessage,
} from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

describe('a run', () => {
  test('gives its result, and still does when the store is opened again', async () => {
    const path = storeFile()
    const { agent, model } = wiping([[{ text: 'I do.' }, callOf('c', 'a')], 'Done.'])
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe a')
    const result = await run.result
    expect(result).toMatchObject({ output: 'I do.\nDone.', answer: 'Done.', finishReason: 'stop' })
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    await runs.close()
    const again = await opened(path, { agent })
    const stored = await again.get(run.id)
    expect(await stored?.result).toEqual(result)
    model.assertDone()
  })

  test('is started once, also when it is started again', async () => {
    const { agent, model } = wiping(['Hello.'])
    const runs = await opened(storeFile(), { agent })
    const [first, second] = await Promise.all([
      runs.start('agent', 'Hi', { id: 'job-7' }),
      runs.start('agent', 'Hi', { id: 'job-7' }),
    ])
    expect([first.id, second.id]).toEqual(['job-7', 'job-7'])
    expect(await second.result).toEqual(await first.result)
    await expect(runs.start('agent', 'Hi', { id: 'job-7' }).then((run) => run.result)).resolves.toMatchObject(
      {
        output: 'Hello.',
      },
    )
    model.assertDone()
    expect(await runs.list()).toHaveLength(1)
  })

  test.each([
    ['prompt', 'Something else', {}],
    ['history', 'Hi', { history: [userMessage('Before'), modelMessage('Yes.')] }],
    ['context', 'Hi', { context: { user: 2 } }],
    ['system prompt', 'Hi', { system: 'Be rude.' }],
    ['schema', 'Hi', { schema: z.object({}) }],
  ])('with the id of another one, started with another %s, is a conflict', async (_, prompt, options) => {
    const { agent } = wiping(['Hello.'])
    const runs = await opened(storeFile(), { agent, other: agent })
    await (await runs.start('agent', 'Hi', { id: 'job', context: { user: 1 } })).result
    await expect(
      runs.start('agent', prompt, { context: { user: 1 }, ...options, id: 'job' }),
    ).rejects.toThrow(ConflictError)
    await expect(runs.start('other', 'Hi', { id: 'job', context: { user: 1 } })).rejects.toThrow(
      'There is a run "job" already',
    )
    expect((await (await runs.start('agent', 'Hi', { id: 'job', context: { user: 1 } })).result).output).toBe(
      'Hello.',
    )
  })

  test('goes on from a history, and gives its tools what was stored for them', async () => {
    const seen: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      execute: async (_, { context }) => {
        seen.push(context)
        return 'seen'
      },
    })
    const model = scriptedModel([[{ toolCall: { id: 'c', name: 'look' } }], 'Ada.'])
    const agent = new Agent(model, { tools: [look] })
    const runs = await opened(storeFile(), { agent }, { context: (stored, { id }) => ({ stored, id }) })
    const history = (await new Agent(scriptedModel(['Hello Ada.'])).send('I am Ada.')).messages
    const run = await runs.start('agent', 'Who am I?', { id: 'q', history, context: { tenant: 4 } })
    expect((await run.result).output).toBe('Ada.')
    expect(model.requests[0]?.messages.map(textOf)).toEqual(['I am Ada.', 'Hello Ada.', 'Who am I?'])
    expect(seen).toEqual([{ stored: { tenant: 4 }, id: 'q' }])
  })

  test('that fails keeps its error and what it reached', async () => {
    const { agent } = wiping([[callOf('c', 'a')], [{ error: { message: 'No more.', status: 400 } }]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe a')
    const error = await run.result.catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: 'No more.', status: 400 })
    expect(error.partial.messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'wiped a' }])
    expect(await run.info()).toMatchObject({ status: 'failed', state: 'Failed', error: { status: 400 } })
    expect((await readAll(run)).chunks.at(-1)).toMatchObject({ finishReason: 'error' })
  })

  test('whose input is no good fails and says why', async () => {
    const { agent } = wiping([])
    const runs = await opened(storeFile(), { agent })
    const empty = await runs.start('agent', [])
    await expect(empty.result).rejects.toThrow(/nothing to answer/)
    expect(await empty.info()).toMatchObject({ status: 'failed', step: 0 })
  })

  test('whose chart breaks is stored as failed, with what it did', async () => {
    const agent = new Agent(scriptedModel(['Hello.']), {
      accumulator: {
        accumulate: (accumulated) => ({ ...accumulated, text: 'x', finish: { reason: 'stop' } }),
        consolidate: () => {
          throw new Error('a bug of mine')
        },
      },
    })
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Hi')
    await expect(run.result).rejects.toThrow(/a bug of mine/)
    expect((await run.info()).status).toBe('failed')
  })

  test('shows in lists, the newest first, page by page', async () => {
    const { agent } = wiping(['1', '2', '3', [callOf('c', 'b')], '5'])
    const other = wiping(['other']).agent
    const runs = await opened(storeFile(), { agent, other })
    for (const id of ['one', 'two', 'three', 'four', 'five'])
      await (await runs.start('agent', id, { id })).result
    await (await runs.start('other', 'six', { id: 'six' })).result
    const ids = async (options?: Parameters<typeof runs.list>[0]) =>
      (await runs.list(options)).map(({ id }) => id)
    expect(await ids()).toEqual(['six', 'five', 'four', 'three', 'two', 'one'])
    expect(await ids({ limit: 2 })).toEqual(['six', 'five'])
    expect(await ids({ limit: 2, before: 'five' })).toEqual(['four', 'three'])
    expect(await ids({ status: 'waiting' })).toEqual(['four'])
    expect(await ids({ agent: 'other' })).toEqual(['six'])
    await expect(runs.list({ before: 'missing' })).rejects.toThrow('There is no run "missing".')
    expect((await runs.list({ status: 'waiting' }))[0]).toMatchObject({
      prompt: 'four',
      state: 'AwaitingApproval',
      step: 1,
      recoveries: 0,
      pending: [{ id: 'c', kind: 'approval', arguments: { file: 'b' } }],
    })
  })
})

describe('a list', () => {
  test.each([
    ['a string', 'Hi', 'Hi'],
    ['the beginning of a long one', 'x'.repeat(201), 'x'.repeat(200)],
    ['texts', [textPart('a'), linkPart('https://a.b'), textPart('b')], 'ab'],
    ['long texts', [textPart('x'.repeat(150)), textPart('y'.repeat(51))], 'x'.repeat(150) + 'y'.repeat(50)],
    ['parts that are not parts', [null, 'a', { text: 5 }, { text: 'b' }], 'b'],
    ['nothing', undefined, ''],
    ['something else', { length: 2 }, ''],
  ])('shows of a prompt %s', (_, prompt, shown) => {
    expect(promptText(prompt)).toBe(shown)
  })

  test('has up to 100 runs, or as many as asked for', async () => {
    const path = storeFile()
    const { file, runs: rows } = await openStore(sqlite(path))
    const blank = {
      agent: 'a',
      prompt: '',
      packedSnapshot: '',
      forkedFrom: undefined,
      base: undefined,
      context: undefined,
      request: undefined,
      answer: undefined,
      metadata: undefined,
      tags: [],
    }
    file.write('normal', () => {
      for (let n = 1; n <= 101; n += 1)
        rows.insert({ ...notStarted, ...blank, id: `run ${n}`, isUnsettled: false }, n)
    })
    file.close()
    const runs = await opened(path, {})
    expect(await runs.list()).toHaveLength(100)
    expect((await runs.list({ limit: 1000 })).at(-1)?.id).toBe('run 1')
    for (const limit of [0, -1, 1.5, Number.NaN])
      await expect(runs.list({ limit })).rejects.toThrow(/limit must be a whole number, 1 or more/)
  })
})

describe('a run that waits', () => {
  test('says what for, and goes on call by call', async () => {
    const { agent, wiped, model } = wiping([
      [callOf('c1', 'b1'), callOf('c2', 'b2'), callOf('c3', 'a')],
      'Done.',
    ])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe them', { id: 'job' })
    expect((await run.result).pendingApproval?.calls.map(({ id }) => id)).toEqual(['c1', 'c2'])
    expect((await run.info()).status).toBe('waiting')
    await runs.send('job', { type: 'tool.reject', callId: 'c2', reason: 'keep it' })
    expect((await run.result).pendingApproval?.calls.map(({ id }) => id)).toEqual(['c1'])
    expect(wiped).toEqual([])
    await runs.send('job', { type: 'tool.approve', callId: 'c1', arguments: { file: 'b9' } })
    const { messages, output, pendingApproval } = await run.result
    expect(pendingApproval).toBeUndefined()
    expect(output).toBe('Done.')
    expect(wiped).toEqual(['b9', 'a'])
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'c1', result: 'wiped b9' },
      { id: 'c2', rejected: true },
      { id: 'c3', result: 'wiped a' },
    ])
    model.assertDone()
  })

  test('is answered from outside', async () => {
    const { agent } = wiping([[{ toolCall: { id: 'q', name: 'ask' } }], 'Thanks.'])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Ask', { id: 'job' })
    expect((await run.result).pendingApproval?.calls).toMatchObject([{ id: 'q', kind: 'answer' }])
    await expect(runs.send('job', { type: 'tool.approve', callId: 'q' })).rejects.toThrow(
      /waits for an approval/,
    )
    await runs.send('job', { type: 'tool.answer', callId: 'q', result: { yes: true } })
    expect((await run.result).messages.flatMap(toolResultsOf)).toMatchObject([{ result: '{"yes":true}' }])
  })

  test('can be aborted, and then is over', async () => {
    const { agent, wiped } = wiping([[callOf('c', 'b')]])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    await runs.send('job', { type: 'abort', reason: 'changed my mind' })
    const error = await run.result.catch((thrown) => thrown)
    expect(error).toBeInstanceOf(AbortedError)
    expect(error.message).toContain('changed my mind')
    expect((await run.info()).status).toBe('aborted')
    await expect(runs.send('job', { type: 'abort' })).rejects.toThrow(/is over \(aborted\)/)
    expect(wiped).toEqual([])
  })

  test('takes a command that is not a decision, and waits on', async () => {
    const { agent, model } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    await runs.send('job', { type: 'steer', text: 'And be quick.' })
    expect((await run.result).pendingApproval?.calls).toHaveLength(1)
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    await run.result
    expect(model.requests[1]?.messages.map(textOf)).toContain('And be quick.')
  })

  test('waits for a day and a restart', async () => {
    const path = storeFile()
    const before = wiping([[callOf('c', 'b')]])
    const first = await opened(path, { agent: before.agent })
    await (await first.start('agent', 'Wipe b', { id: 'job' })).result
    await first.close()
    const after = wiping(['Done.'])
    const second = await opened(path, { agent: after.agent })
    expect((await (await second.get('job'))?.result)?.pendingApproval?.calls).toHaveLength(1)
    await second.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await (await second.get('job'))?.result)?.output).toBe('Done.')
    expect([before.wiped, after.wiped]).toEqual([[], ['b']])
  })

  test('that `onApproval` attends to is not released', async () => {
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'], { onApproval: async () => true })
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b')
    const { chunks } = await readAll(run)
    expect(chunks.some(({ pendingApproval }) => pendingApproval)).toBe(false)
    expect((await run.result).output).toBe('Done.')
    expect(wiped).toEqual(['b'])
  })

  test('inside an orchestrator goes on there', async () => {
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'A draft.', 'APPROVED'], {
      orchestrator: reflectionOrchestrator(),
    })
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    expect((await run.result).pendingApproval?.calls).toHaveLength(1)
    expect(await run.info()).toMatchObject({ status: 'waiting', state: 'Draft', step: 1 })
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect(await run.result).toMatchObject({ output: 'A draft.' })
    expect(wiped).toEqual(['b'])
    expect((await run.info()).step).toBe(3)
  })
})
