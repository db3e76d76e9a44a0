/** Nothing happens that a policy is asked about and cannot take. */
import { describe, expect, test } from 'vitest'
import { assign, createMachine, fromPromise, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf } from '../engine/watching.ts'
import { call, refundDesk, resultsIn, verified } from './refunds.ts'

const plain = (name: string, ran: string[] = []) =>
  tool({
    name,
    description: name,
    execute: (_, { callId }) => {
      ran.push(callId)
      return `${name} ok`
    },
  })

describe('a call', () => {
  test('that the policy cannot take is not made, and the model learns what is possible', async () => {
    const { tools, policy, ran } = refundDesk()
    const model = scriptedModel([
      [call('r', 'refund', { euros: 5 })],
      verified,
      [call('r2', 'refund', { euros: 5 })],
      'done',
    ])
    const { messages, output } = await new Agent(model, { tools, policy }).send('Refund me')
    expect(ran).toEqual(['verify Ada', 'refund 5'])
    expect(output).toBe('done')
    expect(resultsIn(messages)).toEqual({
      r: '{"error":"The call was not made: the policy does not allow \\"refund\\" in the state Unknown. Possible now: verify_customer."}',
      v: '{"known":true}',
      r2: 'paid 5',
    })
    expect(validateHistory(messages)).toEqual([])
    model.assertDone()
  })

  test('is decided on before any other call of the turn runs', async () => {
    const { tools, policy, ran } = refundDesk()
    const model = scriptedModel([[...(verified as []), call('r', 'refund', { euros: 5 })], 'done'])
    await new Agent(model, { tools, policy }).send('Refund me')
    expect(ran).toEqual(['verify Ada'])
  })

  test('counts in the order of the turn: a budget is not spent twice by parallel calls', async () => {
    const { tools, policy, ran } = refundDesk()
    const model = scriptedModel([
      verified,
      [
        call('a', 'refund', { euros: 60 }),
        call('b', 'refund', { euros: 50 }),
        call('c', 'refund', { euros: 40 }),
      ],
      'done',
    ])
    const agent = new Agent(model, { tools, policy, toolExecution: 'parallel', onApproval: () => true })
    const { messages } = await agent.send('Refund me')
    // The second needs a person; while the policy is in Asking, it does not take the third.
    expect(ran).toEqual(['verify Ada', 'refund 60', 'refund 50'])
    expect(resultsIn(messages).c).toContain('The call was not made: the refund is more than is left.')
  })

  test('taken in a state tagged approval waits for a person, who may be in another process', async () => {
    const { tools, policy, ran } = refundDesk()
    const model = scriptedModel([verified, [call('r', 'refund', { euros: 500 })], 'paid', 'again'])
    const agent = new Agent(model, { tools, policy })
    const { pendingApproval } = await agent.send('Refund me')
    expect(pendingApproval?.calls).toMatchObject([{ id: 'r', kind: 'approval' }])
    expect(ran).toEqual(['verify Ada'])
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    const { output, policy: after } = await agent.resume(stored, { r: true })
    expect([output, after?.value]).toEqual(['paid', 'Verified'])
    expect(ran).toEqual(['verify Ada', 'refund 500'])
  })

  test('of a tool that a person rejected is reported to the policy', async () => {
    const { tools, policy, ran } = refundDesk()
    const model = scriptedModel([verified, [call('r', 'refund', { euros: 500 })], 'sorry'])
    const agent = new Agent(model, {
      tools,
      policy,
      onApproval: () => ({ approve: false, reason: 'too much' }),
    })
    const { policy: after } = await agent.send('Refund me')
    expect(after).toMatchObject({ value: 'Verified', context: { left: 100 } })
    expect(ran).toEqual(['verify Ada'])
  })

  test('whose arguments do not fit, or of an unknown tool, does not reach the policy', async () => {
    const { tools, policy, ran } = refundDesk()
    const seen: string[] = []
    const watched = policy.provide({})
    const model = scriptedModel([
      [
        call('a', 'refund', { euros: 'many' }),
        call('b', 'nothing'),
        { toolCall: { id: 'c', name: 'refund', arguments: '{"eu' } },
      ],
      'done',
    ])
    const agent = new Agent(model, {
      tools,
      policy: watched,
      inspect: (event) => {
        if (event.type === '@xstate.event' && event.event.type.includes('.call')) seen.push(event.event.type)
      },
    })
    const { messages } = await agent.send('Go')
    expect(resultsIn(messages)).toMatchObject({
      a: expect.stringContaining('do not fit the schema'),
      b: expect.stringContaining('There is no tool named'),
      c: expect.stringContaining('not valid JSON'),
    })
    expect([ran, seen]).toEqual([[], []])
  })
})

describe('a hold', () => {
  const held = (check: () => Promise<boolean>) =>
    setup({ actors: { check: fromPromise(check) }, types: { tags: {} as 'hold' | 'refuse' } }).createMachine({
      initial: 'Open',
      states: {
        Open: { on: { 'pay.call': 'Checking', 'look.call': { actions: () => {} } } },
        Checking: {
          tags: 'hold',
          invoke: {
            src: 'check',
            onDone: [{ guard: ({ event }) => event.output === true, target: 'Open' }, { target: 'Bad' }],
            onError: 'Bad',
          },
        },
        Bad: { tags: 'refuse', meta: { reason: 'the check failed' }, on: { 'pay.refused': 'Open' } },
      },
    })

  test('keeps every call of the turn back until the check has ended', async () => {
    const ran: string[] = []
    let finish = (_: boolean) => {}
    const policy = held(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    const model = scriptedModel([[call('a', 'look'), call('b', 'pay'), call('c', 'look')], 'done'])
    const agent = new Agent(model, { tools: [plain('pay', ran), plain('look', ran)], policy })
    const actor = agent.actor({ prompt: 'Go' })
    const holding = new Promise<void>((resolve) => {
      actor.subscribe((snapshot) => {
        if (snapshot.matches({ Judging: { Calls: 'Holding' } })) resolve()
      })
    })
    actor.start()
    await holding
    expect(ran).toEqual([])
    const ended = new Promise<void>((resolve) => actor.subscribe({ complete: () => resolve() }))
    finish(true)
    await ended
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  test('that ends in a state tagged refuse refuses the call, and the policy can leave that state', async () => {
    const ran: string[] = []
    const model = scriptedModel([[call('a', 'look'), call('b', 'pay'), call('c', 'look')], 'done'])
    const agent = new Agent(model, {
      tools: [plain('pay', ran), plain('look', ran)],
      policy: held(async () => false),
    })
    const { messages, policy } = await agent.send('Go')
    expect(ran).toEqual(['a', 'c'])
    expect(resultsIn(messages).b).toBe('{"error":"The call was not made: the check failed."}')
    expect(policy?.value).toBe('Open')
  })

  test('can ask another agent', async () => {
    const judge = new Agent(scriptedModel(['no']))
    const policy = held(async () => (await judge.send('Is this fine?')).output === 'yes')
    const ran: string[] = []
    const model = scriptedModel([[call('b', 'pay')], 'done'])
    await new Agent(model, { tools: [plain('pay', ran), plain('look', ran)], policy }).send('Go')
    expect(ran).toEqual([])
  })
})

describe('an answer', () => {
  const checklist = createMachine({
    initial: 'Open',
    states: {
      Open: {
        meta: { reason: 'the tests have not run' },
        on: { 'run_tests.call': { actions: () => {} }, 'run_tests.done': 'Ready' },
      },
      Ready: { on: { answer: { actions: () => {} } } },
    },
  })

  test('is refused until the checklist is done, and the model learns what is missing', async () => {
    const model = scriptedModel(['all done', [call('t', 'run_tests')], 'really done'])
    const agent = new Agent(model, { tools: [plain('run_tests')], policy: checklist })
    const { output, answer, messages } = await agent.send('Build it')
    expect([output, answer]).toEqual(['really done', 'really done'])
    expect(messages.map(textOf)).toEqual([
      'Build it',
      'all done',
      'Your answer was not accepted: the tests have not run. Do what is missing, then answer again.',
      '',
      '',
      'really done',
    ])
    expect(messages[1]?.metadata).toEqual({ refused: 'the tests have not run.' })
    expect(validateHistory(messages)).toEqual([])
  })

  test('that is refused again and again ends at the limit of steps, without an output', async () => {
    const model = scriptedModel(['a', 'b', 'c'])
    const agent = new Agent(model, { tools: [plain('run_tests')], policy: checklist, maxSteps: 3 })
    const { output, finishReason, messages } = await agent.send('Build it')
    expect([output, finishReason]).toEqual(['', 'maxSteps'])
    expect(validateHistory(messages)).toEqual([])
  })

  test('at a limit is judged, too: a refusal ends the run', async () => {
    const model = scriptedModel(['a', 'b'])
    const agent = new Agent(model, {
      tools: [plain('run_tests')],
      policy: checklist,
      maxSteps: 1,
      atLimit: 'answer',
    })
    await expect(agent.send('Build it')).rejects.toMatchObject({
      name: 'OrchestrationError',
      code: 'policy_refused',
      message: 'The policy refused the answer: the tests have not run.',
    })
  })

  test('that was shown is taken back', async () => {
    const model = scriptedModel(['all done', [call('t', 'run_tests')], 'really done'])
    const agent = new Agent(model, { tools: [plain('run_tests')], policy: checklist })
    const shown: unknown[] = []
    for await (const { output, metadata } of agent.sendStream('Build it'))
      if (output !== '' || metadata.restart) shown.push(output || 'restart')
    expect(shown).toEqual(['all done', 'restart', '\nreally done'])
  })
})

test('a prompt that the policy refuses sends no request', async () => {
  const policy = createMachine({
    initial: 'Open',
    states: {
      Open: {
        on: {
          prompt: [
            { guard: ({ event }) => event.text.includes('bomb'), target: 'Closed' },
            { actions: () => {} },
          ],
        },
      },
      Closed: { type: 'final', tags: 'refuse', meta: { reason: 'not here' } },
    },
  })
  const model = scriptedModel(['hello'])
  const agent = new Agent(model, { policy })
  await expect(agent.send('A bomb, please')).rejects.toMatchObject({
    code: 'policy_refused',
    message: 'The policy refused the run: not here.',
    partial: { policy: { value: 'Closed' } },
  })
  expect(model.requests).toEqual([])
  expect((await agent.send('Hello')).output).toBe('hello')
})

test('a result is withheld from the model by a scan', async () => {
  const policy = setup({ actors: { scan: fromPromise(async () => 'injection') } }).createMachine({
    initial: 'Open',
    states: {
      Open: { on: { 'web.call': { actions: () => {} }, 'web.done': 'Scanning' } },
      Scanning: { tags: 'hold', invoke: { src: 'scan', onDone: 'Bad', onError: 'Bad' } },
      Bad: { tags: 'refuse', meta: { reason: 'it holds instructions' }, on: { 'web.refused': 'Open' } },
    },
  })
  const model = scriptedModel([[call('w', 'web')], 'done'])
  const { messages } = await new Agent(model, { tools: [plain('web')], policy }).send('Read')
  const seen = JSON.stringify(model.requests[1]?.messages)
  expect(seen).not.toContain('web ok')
  expect(resultsIn(messages).w).toBe(
    '{"error":"The tool has run, but its result is withheld: it holds instructions."}',
  )
})

test('taint: nothing is mailed after the web was read, unless a person agrees', async () => {
  const taint = createMachine({
    initial: 'Clean',
    states: {
      Clean: {
        on: { 'web.call': { actions: () => {} }, 'web.done': 'Tainted', 'mail.call': { actions: () => {} } },
      },
      Tainted: {
        tags: 'approval',
        on: { 'web.call': { actions: () => {} }, 'mail.call': { actions: () => {} } },
      },
    },
  })
  const ran: string[] = []
  const tools = [plain('web', ran), plain('mail', ran)]
  const asked: string[] = []
  const model = scriptedModel([[call('m1', 'mail')], [call('w', 'web')], [call('m2', 'mail')], 'done'])
  const agent = new Agent(model, {
    tools,
    policy: taint,
    onApproval: ({ name }) => {
      asked.push(name)
      return false
    },
  })
  await agent.send('Go')
  expect([ran, asked]).toEqual([['m1', 'w'], ['mail']])
})

test('states of the policy are phases: their meta is what the next request is made with', async () => {
  const cheap = scriptedModel(['billed'], { model: 'cheap' })
  const policy = createMachine({
    initial: 'Triage',
    states: {
      Triage: {
        meta: { system: 'You are the triage.', tools: ['to_billing'], settings: { temperature: 0 } },
        on: { 'to_billing.call': { actions: () => {} }, 'to_billing.done': 'Billing' },
      },
      Billing: {
        meta: { system: 'You are the billing.', tools: ['invoice'], model: 'cheap' },
        on: { 'invoice.call': { actions: () => {} } },
      },
    },
  })
  const model = scriptedModel([[call('i', 'invoice'), call('b', 'to_billing')]])
  const agent = new Agent(model, {
    system: 'Base',
    tools: [plain('to_billing'), plain('invoice')],
    policy: { machine: policy, models: { cheap } },
  })
  const { output, messages } = await agent.send('My invoice is wrong')
  expect(output).toBe('billed')
  expect(model.requests[0]).toMatchObject({ temperature: 0, tools: [{ name: 'to_billing' }] })
  expect(model.requests[0]?.messages[0]).toMatchObject({
    role: 'system',
    parts: [{ text: 'You are the triage.' }],
  })
  expect(cheap.requests[0]?.messages[0]).toMatchObject({ parts: [{ text: 'You are the billing.' }] })
  expect(resultsIn(messages).i).toContain('There is no tool named')
})

test('a typed answer is judged as an answer, however the provider makes it', async () => {
  const seen: string[] = []
  const policy = createMachine({
    context: { n: 0 },
    on: {
      answer: {
        guard: ({ context, event }) => {
          seen.push(event.text)
          return context.n > 0 || !event.text.includes('1')
        },
        actions: assign({ n: 1 }),
      },
    },
  })
  const schema = { jsonSchema: { type: 'object', properties: { n: { type: 'number' } } } }
  const model = scriptedModel(
    [[call('a', 'return_result', { n: 1 })], [call('b', 'return_result', { n: 2 })]],
    { profile: { nativeSchema: false } },
  )
  const { output } = await new Agent(model, { policy }).sendFor('Count', schema)
  expect(output).toEqual({ n: 2 })
  expect(new Set(seen)).toEqual(new Set(['{"n":1}', '{"n":2}']))
})

test('listeners get every verdict', async () => {
  const { tools, policy } = refundDesk()
  const model = scriptedModel([[call('r', 'refund', { euros: 5 })], verified, 'done'])
  const run = new Agent(model, { tools, policy }).start('Go')
  const verdicts: unknown[] = []
  run.on('policy', ({ type: _, ...verdict }) => verdicts.push(verdict))
  await run.result
  expect(verdicts).toEqual([
    { gate: 'Calls', callId: 'r', verdict: 'refuse', state: 'Unknown' },
    { gate: 'Calls', callId: 'v', verdict: 'pass', state: 'Unknown' },
    { gate: 'Results', callId: 'v', verdict: 'pass', state: 'Verified' },
    { gate: 'Answer', verdict: 'pass', state: 'Verified' },
  ])
})

test('with chunks held, the text of an answer is shown once it is accepted', async () => {
  const machine = createMachine({
    on: {
      answer: { guard: ({ event }) => !event.text.includes('secret'), actions: () => {} },
      'look.call': { actions: () => {} },
    },
  })
  const model = scriptedModel([
    [{ text: 'let me ' }, { text: 'see' }, call('l', 'look')],
    [{ text: 'a sec' }, { text: 'ret' }],
    [{ text: 'all ' }, { text: 'fine' }],
  ])
  const agent = new Agent(model, { tools: [plain('look')], policy: { machine, chunks: 'hold' } })
  const shown: string[] = []
  for await (const { output, messages } of agent.sendStream('Go'))
    shown.push(output, ...messages.map((message) => JSON.stringify(message)))
  expect(shown.filter((text) => text !== '').slice(-2)).toEqual([
    'all fine',
    '{"role":"model","parts":[{"type":"text","text":"all fine"}]}',
  ])
  expect(shown.join()).not.toContain('secret')
})

test('without a policy nothing of one is entered, asked or stored', async () => {
  const { tools } = refundDesk()
  const entered = new Set<string>()
  const events: string[] = []
  const agent = new Agent(scriptedModel([verified, 'done']), {
    tools,
    inspect: (event) => {
      if (event.type === '@xstate.event') events.push(event.event.type)
      if (event.type === '@xstate.snapshot') entered.add(JSON.stringify(Object(event.snapshot).value))
    },
  })
  const actor = agent.actor({ prompt: 'Go' })
  actor.subscribe(({ children }) => expect(children).not.toHaveProperty('policy'))
  actor.start()
  const { policy } = await endOf(actor)
  expect(policy).toBeUndefined()
  expect([...entered].filter((value) => value?.includes('Judging'))).toEqual([])
  expect(events.filter((type) => type.startsWith('policy.'))).toEqual([])
})
