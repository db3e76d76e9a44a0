/** Background agents in memory: a call starts a task, the run waits for the results, and each arrives once. */
import { describe, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { AgentToolOptions } from '../../src/agent/agentTool.ts'
import { isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { answering, calls, Replies } from './taskWorld.ts'

type World = { lead: Agent; replies: Replies; model: ReturnType<typeof scriptedModel> }

const world = (
  turns: ScriptTurn[],
  options: Partial<AgentToolOptions> = {},
  leadOptions: ConstructorParameters<typeof Agent>[1] = {},
): World => {
  const replies = new Replies()
  const researcher = new Agent(answering(replies.reply), { name: 'researcher' })
  const research = researcher.asTool({
    name: 'research',
    description: 'Researches',
    background: true,
    ...options,
  })
  const model = scriptedModel(turns)
  return { lead: new Agent(model, { tools: [research], ...leadOptions }), replies, model }
}

const tasksIn = (run: { snapshot(): unknown }): { status: string }[] =>
  Object(run.snapshot()).context.tasks ?? []

const results = (run: { messages: readonly Parameters<typeof isTaskResult>[0][] }) =>
  run.messages.filter(isTaskResult).map(textOf)

describe('a background agent', () => {
  test('returns at once, and the run waits for its result', async () => {
    const { lead, replies, model } = world([
      calls('research', 'a', 'b'),
      'I wait.',
      'One is there.',
      'Both are.',
    ])
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    expect(replies.waiting).toEqual(['a', 'b'])
    const started = model.requests[1]?.messages.flatMap(toolResultsOf) ?? []
    expect(started.map(({ result }) => JSON.parse(result).task)).toEqual(['a', 'b'])
    replies.answer('b', 'B!')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    await expect.poll(() => model.requests.length).toBe(3)
    replies.answer('a', 'A!')
    const result = await run.result
    expect(result.answer).toBe('Both are.')
    expect(results(result)).toEqual([
      'The task "b" (research) is complete. Its result:\nB!',
      'The task "a" (research) is complete. Its result:\nA!',
    ])
    expect(validateHistory(result.messages)).toEqual([])
    model.assertDone()
  })

  /** A lead whose second answer is given when the test wants it. */
  const busy = (third: string) => {
    const replies = new Replies()
    const lead = new Replies()
    const research = new Agent(answering(replies.reply)).asTool({
      name: 'research',
      description: 'R',
      background: true,
    })
    const model = answering((request) => {
      if (request.messages.length === 1) return calls('research', 'a', 'b', 'c')
      return request.messages.some(isTaskResult) ? third : lead.reply(request)
    })
    return { replies, lead, run: new Agent(model, { tools: [research] }).start('Go') }
  }

  test.each([
    ['the answer of the model', 'I wait.' as ScriptTurn],
    [
      'the results of its tools',
      [{ toolCall: { id: 's', name: 'task_status', arguments: {} } }] as ScriptTurn,
    ],
  ])(
    'delivers results that came meanwhile after %s, in their order, each as one message',
    async (_, turn) => {
      const { replies, lead, run } = busy('All are there.')
      await expect.poll(() => replies.waiting.length).toBe(3)
      await expect.poll(() => lead.waiting.length).toBe(1)
      for (const each of ['c', 'a', 'b']) {
        const before = tasksIn(run).filter(({ status }) => status === 'complete').length
        replies.answer(each, each)
        await expect
          .poll(() => tasksIn(run).filter(({ status }) => status === 'complete').length)
          .toBe(before + 1)
      }
      lead.answer('', turn)
      const result = await run.result
      expect(results(result).map((text) => text.at(-1))).toEqual(['c', 'a', 'b'])
      expect(result.answer).toBe('All are there.')
      expect(validateHistory(result.messages)).toEqual([])
    },
  )

  test('delivers a failure as an error', async () => {
    const { lead, replies } = world([calls('research', 'a'), 'I wait.', 'It failed.'])
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', [{ error: { message: 'The model is gone.' } }])
    expect(results(await run.result)).toEqual(['The task "a" (research) failed: The model is gone.'])
  })

  test('shows the status of its tasks, and lets the model cancel one, whose result does not come', async () => {
    const { lead, replies, model } = world(
      [
        calls('research', 'a', 'b'),
        [
          { toolCall: { id: 's', name: 'task_status', arguments: {} } },
          { toolCall: { id: 'x', name: 'task_cancel', arguments: { task: 'b' } } },
          { toolCall: { id: 'y', name: 'task_cancel', arguments: { task: 'a' } } },
          { toolCall: { id: 'z', name: 'task_cancel', arguments: { task: 'a' } } },
          { toolCall: { id: 't', name: 'task_status', arguments: { task: 'c' } } },
        ],
        'Cancelled.',
      ],
      { maxTasks: 1 },
    )
    const run = lead.start('Go')
    const result = await run.result
    expect(replies.waiting).toEqual(['a'])
    const texts = result.messages.flatMap(toolResultsOf).slice(2)
    expect(JSON.parse(texts[0]?.result ?? '')).toEqual([
      { task: 'a', tool: 'research', status: 'working' },
      { task: 'b', tool: 'research', status: 'queued' },
    ])
    expect(JSON.parse(texts[1]?.result ?? '')).toEqual({ task: 'b', status: 'cancelled' })
    expect(JSON.parse(texts[2]?.result ?? '')).toEqual({ task: 'a', status: 'cancelled' })
    expect(texts[3]).toMatchObject({ isError: true })
    expect(texts[4]).toMatchObject({ isError: true })
    expect(results(result)).toEqual([])
    expect(result.answer).toBe('Cancelled.')
    model.assertDone()
  })

  test('runs as many tasks at the same time as it may, and the others in their order', async () => {
    const prompts = Array.from({ length: 50 }, (_, index) => `p${index}`)
    const { lead, replies } = world(
      [calls('research', ...prompts), ...Array(60).fill('I wait.')],
      { maxTasks: 8 },
      { maxSteps: 100 },
    )
    const run = lead.start('Go')
    const seen: string[] = []
    while (seen.length < 50) {
      await expect.poll(() => replies.waiting.length).toBe(Math.min(8, 50 - seen.length))
      const [next = ''] = replies.waiting.slice(-1)
      seen.push(next)
      replies.answer(next, `R${next}`)
    }
    const result = await run.result
    expect(results(result)).toEqual(
      seen.map((each) => `The task "${each}" (research) is complete. Its result:\nR${each}`),
    )
  })

  test('is aborted with the run', async () => {
    const { lead, replies, model } = world([calls('research', 'a'), 'I wait.'])
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    run.abort('enough')
    await expect(run.result).rejects.toThrow('enough')
    expect(Object(run.snapshot()).context.tasks).toMatchObject([
      { id: 'a', tool: 'research', status: 'aborted' },
    ])
    replies.answer('a', 'too late')
    model.assertDone()
  })

  test('continues after the end of the run if it is detached, and the run does not wait for it', async () => {
    const ended: string[] = []
    const replies = new Replies()
    const note = tool({ name: 'note', description: 'Notes', execute: () => void ended.push('noted') })
    const researcher = new Agent(
      answering((request) =>
        request.messages.at(-1)?.parts[0]?.type === 'toolResult' ? 'Done.' : replies.reply(request),
      ),
      { tools: [note] },
    )
    const research = researcher.asTool({
      name: 'research',
      description: 'R',
      background: true,
      detached: true,
    })
    const lead = new Agent(scriptedModel([calls('research', 'a'), 'Bye.']), { tools: [research] })
    const result = await lead.send('Go')
    expect(result.answer).toBe('Bye.')
    expect(ended).toEqual([])
    replies.answer('a', [{ toolCall: { name: 'note', arguments: {} } }])
    await expect.poll(() => ended).toEqual(['noted'])
  })

  test('lets the user steer while the run waits', async () => {
    const { lead, replies, model } = world([calls('research', 'a'), 'I wait.', 'Steered.', 'Done.'])
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    run.steer('Be brief.')
    await expect.poll(() => model.requests.length).toBe(3)
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', 'A!')
    expect((await run.result).answer).toBe('Done.')
  })

  test('does not let a tool end the run while a task works', async () => {
    const final = tool({ name: 'final', description: 'Ends', endsRun: true, execute: () => 'ok' })
    const replies = new Replies()
    const research = new Agent(answering(replies.reply)).asTool({
      name: 'research',
      description: 'R',
      background: true,
    })
    const model = scriptedModel([
      calls('research', 'a'),
      [{ toolCall: { id: 'f', name: 'final', arguments: {} } }],
      'I wait.',
      [{ toolCall: { id: 'g', name: 'final', arguments: {} } }],
    ])
    const run = new Agent(model, { tools: [research, final] }).start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', 'A!')
    await run.result
    model.assertDone()
  })

  test('is refused where a run cannot have tasks', async () => {
    const research = new Agent(scriptedModel([])).asTool({
      name: 'research',
      description: 'R',
      background: true,
    })
    const result = await new Agent(scriptedModel([calls('research', 'a'), 'No.'])).send('Go', {
      tools: [research],
    })
    expect(result.messages.flatMap(toolResultsOf)[0]).toMatchObject({ isError: true })
  })

  test('is not mixed up with what is for other tools', () => {
    const agent = new Agent(scriptedModel([]))
    const base = { name: 'research', description: 'R' }
    expect(() => agent.asTool({ ...base, detached: true })).toThrow('background: true')
    expect(() => agent.asTool({ ...base, maxTasks: 2 })).toThrow('background: true')
    expect(() => agent.asTool({ ...base, background: true, timeoutMs: 5 })).toThrow('totalMs')
    const own = tool({ name: 'task_status', description: 'Mine', execute: () => 1 })
    expect(
      () =>
        new Agent(scriptedModel([]), { tools: [agent.asTool({ ...base, background: true }), own] }).machine,
    ).toThrow('Two tools')
  })
})

describe('usage and limits', () => {
  const used = (prompt: string, cost: number): ScriptTurn => [
    { text: prompt },
    { usage: { inputTokens: 1, outputTokens: 1, cost } },
  ]

  test('adds what tasks use to the run', async () => {
    const { lead, replies } = world([calls('research', 'a', 'b'), 'I wait.', 'More.', 'Done.'])
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', used('A', 0.5))
    await expect.poll(() => results(run).length).toBe(1)
    replies.answer('b', used('B', 0.25))
    expect((await run.result).usage).toMatchObject({ cost: 0.75, inputTokens: 2 })
  })

  test('holds the limit of the cost for the run and its tasks together', async () => {
    const replies = new Replies()
    const looking = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
    let requests = 0
    const researcher = new Agent(
      answering((request) => {
        requests += 1
        const isFirst = request.messages.length === 1
        return isFirst
          ? replies.reply(request)
          : [{ usage: { cost: 1 } }, { toolCall: { name: 'look', arguments: {} } }]
      }),
      { tools: [looking], maxSteps: 50 },
    )
    const research = researcher.asTool({ name: 'research', description: 'R', background: true })
    const lead = new Agent(scriptedModel([calls('research', 'a', 'b'), 'I wait.']), {
      tools: [research],
      limits: { cost: 3 },
    })
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', [{ usage: { cost: 1 } }, { toolCall: { name: 'look', arguments: {} } }])
    const result = await run.result
    expect(result.finishReason).toBe('limit')
    expect(result.usage?.cost).toBeGreaterThanOrEqual(3)
    expect(requests).toBeLessThan(8)
  })
})

describe('a person', () => {
  const asking = (options: Partial<AgentToolOptions> = {}) => {
    const ran: string[] = []
    const risky = tool({
      name: 'risky',
      description: 'Risky',
      needsApproval: true,
      execute: () => {
        ran.push('ran')
        return 'ok'
      },
    })
    const researcher = new Agent(
      answering((request) =>
        request.messages.at(-1)?.parts[0]?.type === 'toolResult'
          ? 'Done it.'
          : [{ toolCall: { id: 'r', name: 'risky', arguments: {} } }],
      ),
      { tools: [risky] },
    )
    const research = researcher.asTool({ name: 'research', description: 'R', background: true, ...options })
    const model = answering(({ messages }) =>
      messages.length === 1 ? calls('research', 'a') : messages.some(isTaskResult) ? 'Over.' : 'I wait.',
    )
    return { lead: new Agent(model, { tools: [research] }), ran }
  }

  test('decides on the calls of a task through the handle of the run', async () => {
    const { lead, ran } = asking()
    const run = lead.start('Go')
    const waiting = await run.result
    expect(waiting.status).toBe('waiting')
    expect(run.pending.map(({ id, kind }) => [id, kind])).toEqual([['a/r', 'approval']])
    run.approve('a/r')
    expect((await run.result).answer).toBe('Over.')
    expect(ran).toEqual(['ran'])
  })

  test('is asked through a listener', async () => {
    const { lead, ran } = asking()
    const run = lead.start('Go')
    run.on('tool.approval', ({ callId }) => run.reject(callId))
    expect((await run.result).answer).toBe('Over.')
    expect(ran).toEqual([])
  })

  test('decides on a run that was stored', async () => {
    const { lead, ran } = asking()
    const { pendingApproval } = await lead.send('Go')
    if (!pendingApproval) throw new Error('It does not wait.')
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    const result = await asking().lead.resume(stored, { 'a/r': true })
    expect(result.answer).toBe('Over.')
    expect(ran).toEqual([])
    expect(results(result)).toEqual(['The task "a" (research) is complete. Its result:\nDone it.'])
  })
})

describe('a run that is stored', () => {
  test('continues with its tasks, from any moment, and gets each result once', async () => {
    const script = ({
      messages,
    }: {
      messages: readonly Parameters<typeof isTaskResult>[0][]
    }): ScriptTurn => {
      if (messages.length === 1) return calls('research', 'a', 'b', 'c')
      return `${messages.filter(isTaskResult).length} of 3`
    }
    const make = () => {
      const look = tool({ name: 'look', description: 'L', onInterrupted: 'rerun', execute: () => 'seen' })
      const researcher = new Agent(
        answering((request) =>
          request.messages.length > 2
            ? `R${textOf(request.messages[0] ?? { role: 'user', parts: [] })}`
            : [{ toolCall: { id: 'l', name: 'look', arguments: {} } }],
        ),
        { tools: [look] },
      )
      const research = researcher.asTool({
        name: 'research',
        description: 'R',
        background: true,
        maxTasks: 2,
      })
      return new Agent(answering(script), { tools: [research] })
    }
    const snapshots = new Map<string, ReturnType<ReturnType<Agent['start']>['snapshot']>>()
    const actor = make().actor({ prompt: 'Go' })
    actor.subscribe(() => {
      const stored = JSON.stringify(actor.getPersistedSnapshot())
      snapshots.set(stored, JSON.parse(stored))
    })
    actor.start()
    await expect.poll(() => actor.getSnapshot().status).toBe('done')
    expect(snapshots.size).toBeGreaterThan(10)
    for (const snapshot of snapshots.values()) {
      if (snapshot.status !== 'active') continue
      const result = await make().start({ snapshot }).result
      const tasks = result.messages.filter(isTaskResult).map(({ metadata }) => Object(metadata?.task).id)
      expect(tasks.toSorted()).toEqual(['a', 'b', 'c'])
      expect(result.answer).toBe('3 of 3')
      expect(validateHistory(result.messages)).toEqual([])
    }
  })
})

describe('a policy', () => {
  const judged = (refusal: 'Trusting' | 'Strict') => {
    const seen: string[] = []
    const pass = ['research.call', 'task_status.call', 'task_cancel.call', 'research.started', 'answer']
    const note = { actions: ({ event }: { event: { type: string } }) => void seen.push(event.type) }
    const on = Object.fromEntries(pass.map((type) => [type, note]))
    const machine = createMachine({
      initial: refusal,
      states: {
        Trusting: { on: { ...on, 'research.done': note } },
        Strict: { on: { ...on, 'research.done': { target: 'Closed', ...note } } },
        Closed: { tags: 'refuse', on: { 'research.refused': { target: 'Strict', ...note } } },
      },
    })
    return { ...world([calls('research', 'a'), 'I wait.', 'Over.'], {}, { policy: machine }), seen }
  }

  test('sees the start and the result of a task', async () => {
    const { lead, replies, seen } = judged('Trusting')
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', 'A!')
    expect(results(await run.result)).toEqual(['The task "a" (research) is complete. Its result:\nA!'])
    expect(seen).toEqual(['research.call', 'research.started', 'research.done', 'answer'])
  })

  test('withholds a result', async () => {
    const { lead, replies, model, seen } = judged('Strict')
    const run = lead.start('Go')
    await expect.poll(() => run.state).toBe('AwaitingTasks')
    replies.answer('a', 'secret')
    const result = await run.result
    expect(results(result)).toEqual([expect.stringContaining('its result is withheld')])
    expect(JSON.stringify(model.requests)).not.toContain('secret')
    expect(seen).toContain('research.refused')
  })
})
