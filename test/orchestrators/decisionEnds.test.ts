import { describe, expect, test } from 'vitest'
import { type AnyActorLogic, createActor, fromCallback, type InspectionEvent, waitFor } from 'xstate'
import { z } from 'zod'
import {
  type AgentCommand,
  type AgentMachine,
  type AgentOutput,
  orchestratorParts,
} from '../../machines/index.ts'
import { createDecisionLogic } from '../../machines/orchestrators/decision.ts'
import { createDecisionChart, createDecisionMachine } from '../../machines/orchestrators/decisionMachine.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import {
  AbortedError,
  ConfigurationError,
  ModelError,
  OrchestrationError,
} from '../../src/messages/errors.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { eventList, lineOf } from '../engine/eventList.ts'
import { type AgentActor, idle } from '../engine/watching.ts'

const events = {
  guess: { description: 'Guess the number', input: z.object({ number: z.int() }) },
  'give.up': { description: 'Stop playing' },
}
const guess = (number: number, id = 'g'): ScriptTurn => [
  { text: 'Hm.' },
  { toolCall: { id, name: 'guess', arguments: { number } } },
]
const typeOf = new Map([
  ['guess', 'guess'],
  ['give_up', 'give.up'],
])

const start = (logic: AnyActorLogic, input: object = { prompt: 'Which?' }, options: object = {}) => {
  const actor = createActor(logic, { input, ...options })
  const lines = eventList(actor as unknown as AgentActor)
  const failed = new Promise<unknown>((resolve) => actor.subscribe({ error: resolve }))
  actor.start()
  return { actor, lines, failed }
}

/** A decision whose runs are whatever `send` says that they are. */
const byHand = () => {
  const received: unknown[] = []
  const run = fromCallback(({ receive }) => receive((event) => received.push(event)))
  const machine = createDecisionMachine({ run: run as unknown as AgentMachine, typeOf })
  const { actor, failed } = start(machine)
  const end = (output: Partial<AgentOutput>) =>
    actor.send({
      type: 'xstate.done.actor.run',
      actorId: 'run',
      output: {
        status: 'complete',
        id: '',
        output: '',
        messages: [],
        finishReason: 'stop',
        metadata: {},
        ...output,
      },
    })
  return { actor, failed, received, end }
}

describe('a decision, step by step', () => {
  test('is asked with the history; a reminder follows what was said', async () => {
    const model = scriptedModel(['Hard to say.', guess(7)])
    const history = [userMessage('Hello.'), modelMessage('Hi.')]
    const { actor, lines } = start(createDecision({ model, events }), { prompt: 'Which?', history })
    const { output } = await waitFor(actor, ({ status }) => status === 'done')
    expect(output).toEqual({ type: 'guess', number: 7 })
    const reminder =
      'user: You have not chosen yet. Call exactly one of these tools, with arguments that fit it: guess, give_up.'
    expect(model.requests.map(({ messages }) => messages.map(lineOf))).toEqual([
      ['user: Hello.', 'model: Hi.', 'user: Which?'],
      ['user: Hello.', 'model: Hi.', 'user: Which?', 'model: Hard to say.', reminder],
    ])
    expect(lines.filter((line) => !line.startsWith('step'))).toEqual([
      'chunk user: Which?',
      'message user: Which?',
      'chunk output Hard to say.',
      'chunk model: Hard to say.',
      'message model: Hard to say.',
      `chunk ${reminder}`,
      `message ${reminder}`,
      'chunk output Hm.',
      'chunk model: Hm. guess({"number":7})#g',
      'message model: Hm. guess({"number":7})#g',
      'tool.call g {"type":"toolCall","id":"g","name":"guess","arguments":{"number":7}}',
      'tool.result g {"type":"toolResult","id":"g","name":"guess","result":"{\\"number\\":7}"}',
      'chunk user: g={"number":7}',
      'message user: g={"number":7}',
      'chunk model:',
      'message model:',
    ])
  })

  test('emits the same without the fast path', async () => {
    const eventsOf = async (make: (parts: Parameters<typeof createDecisionChart>[0]) => AnyActorLogic) => {
      const { lifecycle } = orchestratorParts({ model: scriptedModel(['No.', 'No.']) })
      const { lines, failed } = start(make({ run: lifecycle(), typeOf }))
      await failed
      return lines.filter((line) => !line.startsWith('step'))
    }
    const lines = await eventsOf(createDecisionChart)
    expect(lines).toHaveLength(10)
    expect(await eventsOf(createDecisionMachine)).toEqual(lines)
  })

  test('reads what its run says in the short way, unless the user has a relay', async () => {
    const stepsOf = async (logic: AnyActorLogic) => {
      const steps: string[] = []
      const inspect = (event: InspectionEvent) => {
        if (event.type === '@xstate.microstep' && event.event.type === 'run.emitted') steps.push('step')
      }
      await start(logic, { prompt: 'Which?' }, { inspect }).failed
      return steps
    }
    const machine = () => {
      const { lifecycle } = orchestratorParts({ model: scriptedModel(['No.', 'No.']) })
      return createDecisionMachine({ run: lifecycle(), typeOf })
    }
    expect(await stepsOf(machine())).toEqual([])
    const relayed: unknown[] = []
    const relay = ({ event }: { event: { type: string } }) => relayed.push(event.type)
    expect(await stepsOf(machine().provide({ actions: { relay } }))).toHaveLength(6)
    expect(relayed).toEqual(Array(6).fill('run.emitted'))
  })

  test('without a parent sends its event to no one, and needs no other tools', async () => {
    const sent: string[] = []
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.event') sent.push(event.event.type)
    }
    const logic = createDecisionLogic(events, orchestratorParts({ model: scriptedModel([guess(1)]) }))
    const { actor } = start(logic, { prompt: 'Which?' }, { inspect })
    await waitFor(actor, ({ status }) => status === 'done')
    expect(sent).not.toContain('guess')
    expect(sent).toContain('xstate.done.actor.run')
  })

  test('offers a tool for each event, and one must be called', async () => {
    const model = scriptedModel([guess(1)])
    const settings = { toolChoice: 'auto', parallelToolCalls: true } as const
    const { actor } = start(createDecision({ model, events, ...settings }))
    await waitFor(actor, ({ status }) => status === 'done')
    expect(model.requests[0]).toMatchObject({
      ...settings,
      tools: [
        { name: 'guess', description: 'Guess the number', inputSchema: { required: ['number'] } },
        { name: 'give_up', description: 'Stop playing' },
      ],
    })
  })

  test('tries five steps, then five more after the reminder', async () => {
    const wrong = Array.from({ length: 10 }, (_, n) => guess(n + 0.5, `g${n}`))
    const model = scriptedModel(wrong)
    expect(await start(createDecision({ model, events })).failed).toMatchObject({
      name: 'OutputValidationError',
    })
    model.assertDone()
  })

  test('waits for a person while its run does', async () => {
    const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'ok' })
    const model = scriptedModel([[{ toolCall: { id: 'r', name: 'risky' } }], guess(3)])
    const { actor } = start(createDecision({ model, events, tools: [risky] }))
    await idle()
    expect(actor.getSnapshot().value).toEqual({ Asking: 'Waiting' })
    expect([...actor.getSnapshot().tags].sort()).toEqual(['streaming', 'waiting'])
    actor.send({ type: 'tool.approve', callId: 'r' })
    expect(actor.getSnapshot().value).toEqual({ Asking: 'Working' })
    expect((await waitFor(actor, ({ status }) => status === 'done')).output).toEqual({
      type: 'guess',
      number: 3,
    })
  })

  test.each([
    ['Asking', []],
    ['Reminding', [{}]],
  ])('passes commands to its run: %s', (state, ends) => {
    const { actor, received, end } = byHand()
    for (const each of ends) end(each)
    expect(actor.getSnapshot().value).toEqual({ [state]: 'Working' })
    const commands: AgentCommand[] = [
      { type: 'tool.approve', callId: 'a' },
      { type: 'tool.reject', callId: 'a' },
      { type: 'tool.answer', callId: 'a', result: 1 },
      { type: 'steer', text: 'now' },
      { type: 'compact' },
      { type: 'abort' },
    ]
    for (const command of commands) actor.send(command)
    expect(received).toEqual(commands)
    actor.stop()
  })

  test('only a good result of an event counts', () => {
    const result = (name: string, text: string, isError?: true) =>
      ({ type: 'toolResult', id: text, name, result: text, ...(isError && { isError }) }) as const
    const { actor, end } = byHand()
    end({
      messages: [
        {
          role: 'user',
          parts: [
            result('other', '{"number":1}'),
            result('guess', '{"number":2}', true),
            result('guess', 'not JSON'),
            result('give_up', '{"why":"tired","type":"guess"}'),
            result('guess', '{"number":3}'),
          ],
        },
      ],
    })
    expect(actor.getSnapshot()).toMatchObject({
      value: 'Telling',
      context: { chosen: { type: 'give.up', why: 'tired' } },
    })
    actor.stop()
  })
})

describe('a decision that fails', () => {
  test.each([
    ['at once', [], 'Asking'],
    ['after the reminder', ['Hm.'], 'Reminding'],
  ])('because its run breaks %s names the chart and the state', async (_, before, state) => {
    const model = scriptedModel([...before, [{ text: 'broken' }]])
    const { lifecycle, config } = orchestratorParts({ model })
    const hasCalls = ({ context }: { context: { messages: unknown } }) => {
      if (JSON.stringify(context.messages).includes('broken')) throw new RangeError('in a guard')
      return false
    }
    const logic = createDecisionLogic(events, {
      config,
      lifecycle: () => lifecycle().provide({ guards: { hasCalls } }),
    })
    const error = await start(logic).failed
    expect(error).toBeInstanceOf(OrchestrationError)
    expect(error).toMatchObject({
      orchestrator: 'decision',
      state,
      message: expect.stringContaining('in a guard'),
    })
  })

  test('because the model fails after the reminder, with its error', async () => {
    const model = scriptedModel(['Hm.', [{ error: { message: 'boom', status: 400 } }]])
    const error = await start(createDecision({ model, events })).failed
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: 'boom', status: 400 })
  })

  test.each([
    [{ reason: 'enough' }, {}, 'The decision was aborted: enough'],
    [{}, {}, 'The decision was aborted: no reason given'],
    // The run has its own word, if it got the abort.
    [
      { reason: 'mine' },
      { status: 'aborted', reason: 'of the run' } as const,
      'The decision was aborted: of the run',
    ],
    [{}, { status: 'aborted', reason: '' } as const, 'The decision was aborted: no reason given'],
  ])('because it was aborted: %j', async (abort, output, message) => {
    const { actor, failed, end } = byHand()
    actor.send({ type: 'abort', ...abort })
    end(output)
    const error = await failed
    expect(error).toBeInstanceOf(AbortedError)
    expect(error).toMatchObject({ message })
  })

  test('because its run was aborted, without its own knowledge', async () => {
    const { failed, end } = byHand()
    end({ status: 'aborted', reason: 'from above' })
    expect(await failed).toMatchObject({
      name: 'AbortedError',
      message: 'The decision was aborted: from above',
    })
  })

  test('because no event is allowed, or there are no events', async () => {
    const decide = createDecision({ model: scriptedModel([]), events })
    const { actor } = start(decide, { prompt: 'Which?', allowed: ['leave', 'stay'] })
    expect(actor.getSnapshot().error).toMatchObject({
      name: 'ConfigurationError',
      message: 'None of the allowed events (leave, stay) is an event of the decision: guess, give.up.',
    })
    expect(() => createDecision({ model: scriptedModel([]), events: {} })).toThrow(
      'A decision needs events to choose from.',
    )
  })
})

describe('a stored decision', () => {
  const stored = async () => {
    const model = scriptedModel([[{ hang: true }]])
    const { actor } = start(createDecision({ model, events }), { prompt: 'Which?', allowed: ['guess'] })
    await idle()
    const snapshot = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    actor.stop()
    return snapshot
  }

  test('of an older release of the same shape goes on', async () => {
    const snapshot = await stored()
    snapshot.context.version = '4.0'
    const { actor } = start(createDecision({ model: scriptedModel([guess(5)]), events }), {}, { snapshot })
    await waitFor(actor, ({ status }) => status === 'done')
  })

  const refusalOf = (snapshot: object): string => {
    const decide = createDecision({ model: scriptedModel([]), events })
    const { error } = createActor(decide, {
      snapshot: snapshot as never,
      input: { prompt: '' },
    }).getSnapshot()
    if (error !== undefined) expect(error).toBeInstanceOf(ConfigurationError)
    return error instanceof Error ? error.message : ''
  }

  test('has the events that were allowed', async () => {
    const model = scriptedModel([guess(5)])
    const snapshot = await stored()
    expect(snapshot.context).toEqual({
      version: expect.any(String),
      question: { prompt: 'Which?', allowed: ['guess'] },
      said: [],
      chosen: null,
      failure: null,
      abortReason: null,
    })
    const { actor } = start(createDecision({ model, events }), {}, { snapshot })
    await waitFor(actor, ({ status }) => status === 'done')
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['guess'])
  })

  test.each([
    ['question', null, 'question must be an object'],
    ['question', 'x', 'question must be an object'],
    ['question', { allowed: 'guess' }, 'question.allowed must be a list'],
    ['question', { allowed: ['guess', 5] }, 'question.allowed[1] must be a string'],
    ['said', 'x', 'said must be a list'],
    ['said', ['x'], 'said[0] is not a message'],
    ['chosen', 'x', 'chosen must be an object'],
    ['chosen', { number: 1 }, 'chosen.type must be a string'],
    ['failure', { name: 'ModelError' }, 'failure.message must be a string'],
    ['abortReason', 5, 'abortReason must be a string'],
    ['abortReason', undefined, 'abortReason must be a string'],
    ['version', '1.0', 'its version is "1.0"'],
  ])('of another shape is refused: %s %j', async (name, value, problem) => {
    const snapshot = await stored()
    snapshot.context[name] = value
    expect(refusalOf(snapshot)).toContain(`the machine "decision" can continue from: ${problem}`)
  })

  test('of no shape is refused', () => {
    expect(refusalOf({})).toContain('its status is missing')
    expect(refusalOf({ status: 'active' })).toContain('it has no context')
  })

  test('that was made is not asked for again', async () => {
    const { actor, end } = byHand()
    end({
      messages: [
        { role: 'user', parts: [{ type: 'toolResult', id: 'a', name: 'guess', result: '{"number":4}' }] },
      ],
    })
    const snapshot = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    expect(snapshot.value).toBe('Telling')
    actor.stop()
    const again = start(
      createDecisionMachine({ run: fromCallback(() => {}) as unknown as AgentMachine, typeOf }),
      {},
      {
        snapshot,
      },
    )
    expect((await waitFor(again.actor, ({ status }) => status === 'done')).output).toEqual({
      type: 'guess',
      number: 4,
    })
  })
})
