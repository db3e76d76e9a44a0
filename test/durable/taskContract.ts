import { describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { RunInfo, StoredRuns } from '../../src/durable/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type ChatMessage, isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { tool } from '../../src/tools/tool.ts'
import { answering, calls, lastText } from '../engine/taskWorld.ts'
import type { OpenStore } from './chatContract.ts'

const promptOf = ({ messages: [first] }: ModelRequest): string => (first ? textOf(first) : '')
const taskResults = (messages: readonly ChatMessage[]) => messages.filter(isTaskResult).map(textOf)
const lastLines = (messages: readonly ChatMessage[]) =>
  taskResults(messages).map((text) => text.split('\n').at(-1))

const ask = tool({
  name: 'ask',
  description: 'Asks first',
  needsApproval: true,
  onInterrupted: 'rerun',
  execute: () => 'allowed',
})

/** A lead whose researchers ask a person, each by a reader in the background. At most two work at a time. */
export const asking = (): Agent => {
  const reader = new Agent(
    answering((request) => {
      const result = request.messages.flatMap(toolResultsOf).at(-1)
      return result
        ? `Read ${promptOf(request)}: ${/allowed|rejected/.exec(result.result)}.`
        : [{ toolCall: { id: 'q', name: 'ask', arguments: {} } }]
    }),
    { tools: [ask] },
  )
  const read = reader.asTool({ name: 'read', description: 'Reads', background: true })
  const researcher = new Agent(
    answering((request) => {
      if (request.messages.length === 1) return calls('read', `${promptOf(request)}1`)
      const [result] = taskResults(request.messages)
      return result === undefined ? 'I wait.' : `Found: ${result.split('\n').at(-1)}`
    }),
    { tools: [read] },
  )
  const research = researcher.asTool({ name: 'research', description: 'R', background: true, maxTasks: 2 })
  return new Agent(
    answering(({ messages }) =>
      messages.length === 1 ? calls('research', 'a', 'b', 'c') : `${taskResults(messages).length} of 3`,
    ),
    { tools: [research] },
  )
}

export const shown = (tasks: readonly RunInfo[]) =>
  tasks.map(({ id, status, startedAt, pending }) => [
    id,
    status === 'running' && !startedAt ? 'queued' : status,
    pending.map((call) => call.id).join(),
  ])

/** A lead with one worker, which sleeps until it is woken. */
export const sleeping = (): Agent => {
  const worker = new Agent(
    answering((request) =>
      request.messages.length === 1
        ? [{ toolCall: { id: 's', name: 'sleep', arguments: { seconds: 3600 } } }]
        : `I was asked: ${lastText(request)}`,
    ),
    { tools: [sleepTool()] },
  )
  const work = worker.asTool({ name: 'work', description: 'Works', background: true })
  return new Agent(
    answering((request) => (request.messages.length === 1 ? calls('work', 'a') : lastText(request))),
    { tools: [work] },
  )
}

const statusOf = async (runs: StoredRuns, id: string) => (await (await runs.get(id))?.info())?.status
const isWaiting = (runs: StoredRuns, id: string) =>
  vi.waitFor(async () => expect(await statusOf(runs, id)).toBe('waiting'), 60_000)

/** The background agents of a run in every store: listed, found and commanded by ids of their own. */
export const taskContract = (open: OpenStore): void => {
  const waiting = async (): Promise<StoredRuns> => {
    const runs = await open({ lead: asking() })
    await (await runs.start('lead', 'Go', { id: 'job' })).result
    return runs
  }

  describe('background agents', () => {
    test('are found by their ids, with their status, what they wait for, and their own tasks', async () => {
      const runs = await waiting()
      expect(shown(await runs.list({ parent: 'job' }))).toEqual([
        ['job/c', 'queued', ''],
        ['job/b', 'waiting', 'b1/q'],
        ['job/a', 'waiting', 'a1/q'],
      ])
      expect(shown(await runs.list({ parent: 'job/a' }))).toEqual([['job/a/a1', 'waiting', 'q']])
      expect(shown(await runs.list({ parent: 'job', status: 'waiting', limit: 1 }))).toEqual([
        ['job/b', 'waiting', 'b1/q'],
      ])
      expect((await runs.list()).map(({ id }) => id)).toEqual(['job'])
      const task = await runs.get('job/a/a1')
      expect(await task?.info()).toMatchObject({
        parent: 'job/a',
        callId: 'a1',
        agent: 'read',
        state: 'AwaitingApproval',
        prompt: 'a1',
        step: 1,
      })
      expect((await task?.result)?.pendingApproval?.calls.map(({ id }) => id)).toEqual(['q'])
      await expect(task?.stream().next()).rejects.toThrow('stream is not stored')
      expect(await runs.get('job/x')).toBeUndefined()
      await expect(runs.list({ parent: 'job/x' })).rejects.toThrow('There is no run "job/x"')
      await expect(runs.fork('job/a')).rejects.toThrow('"job/a" is a task')
    })

    test('take decisions, messages and aborts by their ids, once, and their parent gets every end', async () => {
      const runs = await waiting()
      await expect(runs.send('job/a', { type: 'tool.approve', callId: 'q' })).rejects.toThrow('No call "q"')
      await expect(runs.send('job/c', { type: 'steer', text: 'Hurry' })).rejects.toThrow('is queued')
      for (const commandId of ['1', '1'])
        await runs.send('job/a/a1', { type: 'tool.approve', callId: 'q' }, { commandId })
      expect((await (await runs.get('job/a'))?.result)?.answer).toBe('I wait.\nFound: Read a1: allowed.')
      await runs.send('job/b', { type: 'abort', reason: 'not needed' })
      await expect((await runs.get('job/b'))?.result).rejects.toThrow('not needed')
      await isWaiting(runs, 'job/c')
      await runs.send('job/c', { type: 'tool.reject', callId: 'c1/q' })
      const { messages, answer } = (await (await runs.get('job'))?.result) ?? { messages: [], answer: '' }
      expect(answer).toBe('3 of 3')
      expect(lastLines(messages)).toEqual([
        'Found: Read a1: allowed.',
        'The task "b" (research) was aborted: not needed',
        'Found: Read c1: rejected.',
      ])
      expect(validateHistory(messages)).toEqual([])
      expect(shown(await runs.list({ parent: 'job' }))).toEqual([
        ['job/c', 'complete', ''],
        ['job/b', 'aborted', ''],
        ['job/a', 'complete', ''],
      ])
      expect(shown(await runs.list({ parent: 'job/a' }))).toEqual([['job/a/a1', 'complete', '']])
      expect((await (await runs.get('job/c'))?.result)?.output).toBe('I wait.\nFound: Read c1: rejected.')
      expect(await runs.send('job/a', { type: 'message', text: 'Too late' })).toBe('refused')
      await expect(runs.send('job/a', { type: 'abort' })).rejects.toThrow(ConfigurationError)
    })

    test('end at once when they are queued and aborted, and with the run that has them', async () => {
      const runs = await waiting()
      await runs.send('job/c', { type: 'abort', reason: 'two are enough' })
      await vi.waitFor(async () => expect(await statusOf(runs, 'job/c')).toBe('aborted'), 60_000)
      await isWaiting(runs, 'job')
      await runs.send('job', { type: 'abort', reason: 'enough' })
      await expect((await runs.get('job'))?.result).rejects.toThrow('enough')
      expect(shown(await runs.list({ parent: 'job' })).map(([, status]) => status)).toEqual([
        'aborted',
        'aborted',
        'aborted',
      ])
    })

    test('ask a person while others work, and continue when they are answered', async () => {
      let finish = () => {}
      const finished = new Promise<string>((resolve) => {
        finish = () => resolve('done')
      })
      const long = tool({ name: 'long', description: 'Takes long', execute: () => finished })
      const worker = new Agent(
        answering((request) => {
          const [result] = request.messages.flatMap(toolResultsOf)
          if (result) return `${promptOf(request)}: ${result.result}`
          return [{ toolCall: { id: 'w', name: promptOf(request), arguments: {} } }]
        }),
        { tools: [ask, long] },
      )
      const work = worker.asTool({ name: 'work', description: 'Works', background: true })
      const lead = new Agent(
        answering((request) =>
          request.messages.length === 1 ? calls('work', 'long', 'ask') : lastText(request),
        ),
        { tools: [work] },
      )
      const runs = await open({ lead })
      const run = await runs.start('lead', 'Go', { id: 'job' })
      await vi.waitFor(async () => {
        expect((await run.info()).pending.map(({ id }) => id)).toEqual(['ask/w'])
      }, 60_000)
      await runs.send('job', { type: 'tool.approve', callId: 'ask/w' })
      await vi.waitFor(async () => expect(await statusOf(runs, 'job/ask')).toBe('complete'), 60_000)
      expect(await statusOf(runs, 'job/long')).toBe('running')
      finish()
      expect(lastLines((await run.result).messages)).toEqual(['ask: allowed', 'long: done'])
    })

    test.each(['wake', 'message'] as const)('that sleep are woken by their ids: %s', async (how) => {
      const runs = await open({ lead: sleeping() })
      const run = await runs.start('lead', 'Go', { id: 'job' })
      await isWaiting(runs, 'job/a')
      expect((await (await runs.get('job/a'))?.info())?.dueAt).toBeInstanceOf(Date)
      if (how === 'wake') await runs.wake('job/a', { at: new Date(), message: 'Good morning.' })
      else await runs.send('job/a', { type: 'message', text: 'Good morning.', when: 'now' })
      expect((await run.result).answer).toContain('I was asked: Good morning.')
    })
  })
}
