/** What happens to each call of a turn, decided once: it runs, a person is asked, it is answered outside, or refused. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolOptions, tool } from '../../src/tools/tool.ts'
import { endOf, idle, stateName, watch } from './watching.ts'

const input = z.object({ n: z.number().max(9).default(1) })
const call = (id: string, name = 'act', args: unknown = {}): ScriptStep => ({
  toolCall: { id, name, arguments: args as never },
})

const world = async (
  turns: ScriptTurn[],
  own: Partial<ToolOptions<typeof input>> = {},
  options: AgentOptions = {},
) => {
  const ran: string[] = []
  const act = tool({
    name: 'act',
    description: 'Acts',
    input,
    execute: (args, { callId }) => {
      ran.push(`${callId} ${JSON.stringify(args)}`)
      return `ran ${callId}`
    },
    ...own,
  })
  const outside = tool({ name: 'outside', description: 'Answered elsewhere', input })
  const model = scriptedModel(turns)
  const actor = new Agent(model, { tools: [act, outside], ...options }).actor({ prompt: 'Go' })
  const watched = watch(actor)
  actor.start()
  await idle()
  const pending = () => pendingIn(actor.getSnapshot()).map(({ id, kind }) => `${id} ${kind}`)
  const results = async () => (await endOf(actor)).messages.flatMap(toolResultsOf)
  return { actor, watched, model, ran, pending, results }
}

describe('a call needs an approval if its rule says', () => {
  test.each<[string, unknown, boolean]>([
    ['true', true, true],
    ['false', false, false],
    ['a function that says yes', () => true, true],
    ['a function that says no', () => false, false],
    ['a function that says nothing', () => undefined, false],
    ['a function that says something', () => 'perhaps', true],
    ['a promise of a no: it is not one yet', async () => false, true],
    ['a promise that breaks', () => Promise.reject(new Error('down')), true],
    [
      'an error',
      () => {
        throw new Error('unsure')
      },
      true,
    ],
  ])('%s', async (_, needsApproval, isAsked) => {
    const { actor, ran, pending } = await world([[call('a')], 'ok'], { needsApproval } as never)
    expect([pending(), ran]).toEqual(isAsked ? [['a approval'], []] : [[], ['a {"n":1}']])
    actor.stop()
  })

  test('and what a rule does to the arguments changes nothing', async () => {
    const { results, ran } = await world([[call('a', 'act', { n: 5 })], 'ok'], {
      needsApproval: (args) => {
        args.n = 9
        return false
      },
    })
    expect(await results()).toMatchObject([{ result: 'ran a' }])
    expect(ran).toEqual(['a {"n":5}'])
  })

  test('and the arguments fit: others are refused at once', async () => {
    const { results, ran } = await world([[call('a', 'act', { n: 10 })], 'ok'], { needsApproval: true })
    const [refused] = await results()
    expect(refused).toMatchObject({ id: 'a', isError: true })
    expect(refused?.result).toContain('The arguments do not fit the schema of \\"act\\"')
    expect(ran).toEqual([])
  })
})

describe('a call that is answered outside', () => {
  test.each<[string, unknown, string]>([
    ['do not fit', { n: 10 }, 'The arguments do not fit the schema'],
    ['are not JSON', '{"n":', 'not valid JSON'],
  ])('is refused if its arguments %s', async (_, args, reason) => {
    const { results } = await world([[call('x', 'outside', args)], 'ok'])
    const [refused] = await results()
    expect(refused).toMatchObject({ id: 'x', isError: true })
    expect(refused?.result).toContain(reason)
  })

  test('is waited for if only an asynchronous schema could check its arguments', async () => {
    const checked = tool({ name: 'later', description: 'Later', input: input.refine(async () => true) })
    const { actor, pending } = await world([[call('x', 'later')]], {}, { tools: [checked] })
    expect(pending()).toEqual(['x answer'])
    actor.stop()
  })

  test.each<[string, object, object]>([
    ['a text', { result: 'fine' }, { result: 'fine' }],
    ['nothing', {}, { result: 'null' }],
    ['JSON', { result: { a: 1 } }, { result: '{"a":1}' }],
    ['an error', { result: 'broken', isError: true }, { result: 'broken', isError: true }],
    ['something that is not marked as an error', { result: 'odd', isError: 'yes' }, { result: 'odd' }],
    [
      'what cannot be JSON',
      { result: 10n },
      { result: expect.stringContaining('The answer cannot be used'), isError: true },
    ],
  ])('takes %s', async (_, answer, expected) => {
    const { actor, results } = await world([[call('x', 'outside')], 'ok'])
    actor.send({ type: 'tool.answer', callId: 'x', ...answer } as never)
    expect(await results()).toEqual([{ type: 'toolResult', id: 'x', name: 'outside', ...expected }])
  })

  test('says so when it is rejected', async () => {
    const { actor, results } = await world([[call('x', 'outside')], 'ok'])
    actor.send({ type: 'tool.reject', callId: 'x' })
    expect(await results()).toEqual([
      {
        type: 'toolResult',
        id: 'x',
        name: 'outside',
        result: '{"error":"A person rejected this call: no reason given"}',
        isError: true,
        rejected: true,
      },
    ])
  })
})

test('a call of a tool that is not offered at this step is refused, and learns what is', async () => {
  const { results, ran } = await world(
    [[call('a'), call('b', 'nothing')], 'ok'],
    {},
    { prepareStep: () => ({ tools: ['outside'] }) },
  )
  expect((await results()).map(({ result }) => result)).toEqual([
    '{"error":"There is no tool named \\"act\\". Available tools: outside."}',
    expect.stringContaining('There is no tool named \\"nothing\\".'),
  ])
  expect(ran).toEqual([])
})

describe('an approval', () => {
  const two: ScriptTurn = [call('a', 'act', { n: 1 }), call('b', 'act', { n: 1 })]
  const asking = { needsApproval: true } as const

  test.each<[string, object, string[], string[]]>([
    ['is for one call', {}, ['b approval'], []],
    ['is for one call if it asks to remember something else', { remember: 'all' }, ['b approval'], []],
    ['by tool is not for a call that was shown beside it', { remember: 'tool' }, ['b approval'], []],
    ['by arguments neither', { remember: 'arguments' }, ['b approval'], []],
    ['about another question is not taken', { question: 'other' }, ['a approval', 'b approval'], []],
    ['ignores arguments that are not an object', { arguments: 'n = 2' }, ['b approval'], []],
  ])('%s', async (_, command, left, expected) => {
    const { actor, pending, ran } = await world([two, 'ok'], asking)
    actor.send({ type: 'tool.approve', callId: 'a', ...command } as never)
    await idle()
    expect([pending(), ran]).toEqual([left, expected])
    actor.stop()
  })

  test('that is remembered holds for a later call whose schema takes its time', async () => {
    const slow = tool({
      name: 'slow',
      description: 'Slow',
      input: input.refine(async () => true),
      needsApproval: true,
      execute: () => 'ran',
    })
    const turns: ScriptTurn[] = [[call('a', 'slow')], [call('b', 'slow')], 'ok']
    const { actor, results } = await world(turns, {}, { tools: [slow] })
    actor.send({ type: 'tool.approve', callId: 'a', remember: 'tool' })
    expect(await results()).toMatchObject([
      { id: 'a', result: 'ran' },
      { id: 'b', result: 'ran' },
    ])
  })

  test('is for the call of that id, whatever it is called', async () => {
    const { actor, ran, results } = await world([[call('constructor', 'act', { n: 3 })], 'ok'], asking)
    actor.send({ type: 'tool.approve', callId: 'constructor' })
    await results()
    expect(ran).toEqual(['constructor {"n":3}'])
  })
})

test('one message answers the turn: the results in call order, what was changed, and what was added', async () => {
  const turn: ScriptTurn = [call('a'), call('b', 'act', { n: 2 }), call('c', 'act', { n: 10 })]
  const { actor, model } = await world([turn, 'ok'], { needsApproval: true })
  actor.send({ type: 'steer', text: 'Be quick.' })
  actor.send({ type: 'tool.approve', callId: 'b', arguments: { n: 4 } })
  actor.send({ type: 'tool.approve', callId: 'a' })
  await endOf(actor)
  expect(model.requests[1]?.messages.at(-1)).toEqual({
    role: 'user',
    parts: [
      { type: 'toolResult', id: 'a', name: 'act', result: 'ran a' },
      { type: 'toolResult', id: 'b', name: 'act', result: 'ran b' },
      expect.objectContaining({ id: 'c', isError: true }),
      {
        type: 'text',
        text: 'A person changed the arguments of the call to "act" before it ran: {"n":4}',
      },
      { type: 'text', text: 'Be quick.' },
    ],
  })
})

test('an aborted turn says of each call whether it ran', async () => {
  const { actor, results } = await world([[call('a'), call('b'), call('c')]], {
    execute: (_, { callId }) => (callId === 'a' ? 'ran a' : new Promise(() => {})),
  })
  actor.send({ type: 'abort' })
  expect((await results()).map(({ result }) => result)).toEqual([
    'ran a',
    '{"error":"The run was interrupted while this tool was running; whether it took effect is unknown."}',
    '{"error":"The run was interrupted before this tool started; it was not run."}',
  ])
})

test.each<[string, ScriptTurn, string]>([
  ['ends the run if it succeeds', [call('a')], ''],
  ['ends it beside others', [call('x', 'free'), call('a')], ''],
  ['does not end it if it fails', [call('a', 'act', { n: 10 })], 'on'],
  ['does not end it for others', [call('x', 'free')], 'on'],
])('a tool that ends the run %s', async (_, turn, output) => {
  const act = tool({ name: 'act', description: 'Ends', input, endsRun: true, execute: () => 'ended' })
  const free = tool({ name: 'free', description: 'Runs', execute: () => 'ran' })
  const { actor } = await world([turn, 'on'], {}, { tools: [act, free] })
  expect(await endOf(actor)).toMatchObject({ status: 'complete', output })
  expect(stateName(actor.getSnapshot())).toBe('Complete')
})
