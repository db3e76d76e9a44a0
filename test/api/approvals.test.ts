/** What a person says about a call is what happens: with other arguments, for later calls as well, or not at all. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { CallDecision, Remember } from '../../src/tools/approval.ts'
import { tool } from '../../src/tools/tool.ts'
import { rejection } from '../engine/watching.ts'
import { settled, waitOf } from './askingAgent.ts'

const pay = (id: string, amount: number, name = 'pay') => ({ toolCall: { id, name, arguments: { amount } } })

const payingAgent = (turns: readonly ScriptTurn[], options: AgentOptions = {}) => {
  const paid: string[] = []
  const make = (name: string) =>
    tool({
      name,
      description: name,
      needsApproval: true,
      input: z.object({ amount: z.number().max(1000), to: z.string().default('bank') }),
      execute: ({ amount, to }, { callId }) => {
        paid.push(`${callId} ${amount} ${to}`)
        return 'paid'
      },
    })
  const invoice = tool({
    name: 'sign',
    description: 'A person signs',
    needsApproval: true,
    input: z.object({ amount: z.number() }),
  })
  const model = scriptedModel(turns)
  return {
    paid,
    model,
    agent: new Agent(model, { tools: [make('pay'), make('refund'), invoice], ...options }),
  }
}

/** Sends, and decides once: in another process, so to speak. */
const decided = async (turns: readonly ScriptTurn[], decisions: Record<string, CallDecision>) => {
  const [first = 'nothing', ...later] = turns
  const pending = waitOf(await payingAgent([first]).agent.send('Go'))
  const paying = payingAgent(later)
  return { ...paying, result: await settled(paying.agent.resume(pending, decisions)) }
}

describe('edited arguments', () => {
  test('are what runs, and the model learns it', async () => {
    const edited = { approve: true, arguments: { amount: 5, to: 'charity' } }
    const { paid, result, model } = await decided([[pay('a', 500)], 'done'], { a: edited })
    expect(paid).toEqual(['a 5 charity'])
    const shown = model.requests[0]?.messages.at(-1)
    expect(shown && textOf(shown)).toContain('{"amount":5,"to":"charity"}')
    expect(validateHistory(result.messages)).toEqual([])
    // What the model said stays as it was.
    expect(JSON.stringify(result.messages[1])).toContain('"amount":500')
  })

  test('are validated: what does not fit does not run', async () => {
    const { paid, result } = await decided([[pay('a', 5)], 'done'], {
      a: { approve: true, arguments: { amount: 5000 } },
    })
    expect(paid).toEqual([])
    expect(result.messages.flatMap(toolResultsOf)).toMatchObject([{ id: 'a', isError: true }])
  })

  test.each([[[]], ['text'], [7], [null]])(
    'that are %j are refused, and the call waits on',
    async (given) => {
      const { agent, paid } = payingAgent([[pay('a', 5)], 'done'])
      const run = agent.start('Go')
      await settled(run.result)
      expect(() => run.approve('a', { arguments: given as never })).toThrow(ConfigurationError)
      expect(run.pending).toHaveLength(1)
      run.approve('a')
      await settled(run.result)
      expect(paid).toEqual(['a 5 bank'])
    },
  )

  test('belong to the person who was asked: changing them afterwards changes nothing', async () => {
    const { agent, paid } = payingAgent([[pay('a', 5), pay('b', 6)], 'done'])
    const run = agent.start('Go')
    await settled(run.result)
    const args = { amount: 1 }
    run.approve('a', { arguments: args })
    args.amount = 999
    run.approve('b')
    await settled(run.result)
    expect(paid).toEqual(['a 1 bank', 'b 6 bank'])
  })
})

describe('an approval that is remembered', () => {
  const turns: ScriptTurn[] = [
    [pay('a', 5), pay('b', 5), pay('c', 6), pay('d', 5, 'refund')],
    [pay('e', 5), pay('f', 7), pay('g', 5, 'refund')],
    'done',
  ]

  test.each<[Remember, string[], string[]]>([
    ['tool', ['b', 'c', 'd'], ['g']],
    ['arguments', ['b', 'c', 'd'], ['f', 'g']],
  ])(
    'by %s counts for calls that follow, and not for those that were shown',
    async (remember, now, later) => {
      const { agent, paid } = payingAgent(turns)
      const run = agent.start('Go')
      await settled(run.result)
      run.approve('a', { remember })
      expect(run.pending.map(({ id }) => id)).toEqual(now)
      for (const id of now) run.reject(id)
      expect((await settled(run.result)).pendingApproval?.calls.map(({ id }) => id)).toEqual(later)
      const known = ['a', 'b', 'c', 'd'].filter((id) => !now.includes(id))
      expect(paid.map((each) => each[0])).toEqual(known)
      for (const id of later) run.reject(id)
      expect((await settled(run.result)).output).toBe('done')
      expect(paid.map((each) => each[0])).toEqual([
        ...known,
        ...['e', 'f', 'g'].filter((id) => !later.includes(id)),
      ])
    },
  )

  test.each<Remember>(['tool', 'arguments'])(
    'by %s does not run what is rejected, edited or left at the same time',
    async (remember) => {
      const decisions = {
        a: { approve: true, remember },
        b: false,
        c: { approve: true, arguments: { amount: 1 }, remember },
        d: undefined as never,
      }
      const { paid, result } = await decided([turns[0] ?? '', 'done'], decisions)
      // `d` is of another tool, and still waits.
      expect(result.pendingApproval?.calls.map(({ id }) => id)).toEqual(['d'])
      expect(paid).toEqual([])
      const { agent, paid: later } = payingAgent(['done'])
      await settled(agent.resume(waitOf(result), { d: true }))
      expect(later).toEqual(['a 5 bank', 'c 1 bank', 'd 5 bank'])
    },
  )

  test('by arguments does not look at the order of keys, and is that of the arguments that ran', async () => {
    const first: ScriptTurn = [{ toolCall: { id: 'a', name: 'pay', arguments: { amount: 1, to: 'x' } } }]
    const same: ScriptTurn = [
      { toolCall: { id: 'b', name: 'pay', arguments: { to: 'y', amount: 2 } } },
      pay('c', 1),
    ]
    const remember = { approve: true, arguments: { amount: 2, to: 'y' }, remember: 'arguments' as const }
    const { paid, result } = await decided([first, same], { a: remember })
    expect(result.pendingApproval?.calls.map(({ id }) => id)).toEqual(['c'])
    expect(paid).toEqual(['a 2 y'])
  })

  test('is for one run: the next one asks again', async () => {
    const { agent, paid } = payingAgent([[pay('a', 5)], 'done', [pay('b', 5)]])
    const run = agent.start('Go')
    await settled(run.result)
    run.approve('a', { remember: 'tool' })
    await settled(run.result)
    expect((await settled(agent.send('Again'))).pendingApproval?.calls).toMatchObject([{ id: 'b' }])
    expect(paid).toHaveLength(1)
  })

  test('given by onApproval counts for later calls; what it is asked at the same time it decides itself', async () => {
    const { agent, paid } = payingAgent([[pay('a', 5), pay('b', 5)], [pay('c', 5)], 'done'], {
      onApproval: ({ id }) => (id === 'a' ? { approve: true, remember: 'tool' } : false),
    })
    await settled(agent.send('Go'))
    expect(paid).toEqual(['a 5 bank', 'c 5 bank'])
  })
})

describe('a rejected call', () => {
  test('has a result that says so, with the reason', async () => {
    const { result } = await decided([[pay('a', 5), pay('b', 6)], 'done'], {
      a: false,
      b: { approve: false, reason: 'too much' },
    })
    expect(result.messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'a', rejected: true, isError: true },
      { id: 'b', rejected: true, isError: true, result: expect.stringContaining('too much') },
    ])
  })

  test('is the only one that is marked: errors are not', async () => {
    const { result } = await decided([[pay('a', 5000), pay('b', 6)], 'done'], { b: true })
    const results = result.messages.flatMap(toolResultsOf)
    expect(results.map(({ rejected }) => rejected)).toEqual([undefined, undefined])
    expect(results[0]).toMatchObject({ isError: true })
  })
})

describe('an external tool that needs an approval', () => {
  test('is approved first and answered then, with the arguments that were approved', async () => {
    const { agent } = payingAgent([[pay('s', 5, 'sign')], 'done'])
    const asked = await settled(agent.send('Go'))
    expect(asked.pendingApproval?.calls).toMatchObject([{ id: 's', kind: 'approval' }])
    await rejection(agent.resume(waitOf(asked), { s: { result: 'signed' } }), ConfigurationError)
    const approved = await settled(
      agent.resume(waitOf(asked), { s: { approve: true, arguments: { amount: 3 } } }),
    )
    expect(approved.pendingApproval?.calls).toMatchObject([
      { id: 's', kind: 'answer', arguments: { amount: 3 } },
    ])
    const { output, messages } = await settled(
      agent.resume(waitOf(approved), { s: { result: { signed: true } } }),
    )
    expect(output).toBe('done')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ id: 's', result: '{"signed":true}' }])
  })

  test('is rejected in either state, and is answered with an error if need be', async () => {
    const start = async () => {
      const { agent } = payingAgent([[pay('s', 5, 'sign')], 'done'])
      const run = agent.start('Go')
      await settled(run.result)
      return run
    }
    const early = await start()
    early.reject('s')
    expect((await settled(early.result)).output).toBe('done')
    const late = await start()
    late.approve('s')
    expect((await settled(late.result)).pendingApproval?.calls).toMatchObject([{ kind: 'answer' }])
    late.reject('s', 'gone')
    expect((await settled(late.result)).messages.flatMap(toolResultsOf)).toMatchObject([{ rejected: true }])
    const wrong = await start()
    wrong.approve('s')
    await settled(wrong.result)
    expect(() => wrong.answer('s', () => {})).toThrow('its result is a function')
    wrong.answer('s', 'signed')
    expect((await settled(wrong.result)).output).toBe('done')
  })
})
