import { describe, expect, expectTypeOf, test } from 'vitest'
import { type AnyActorRef, assign, createActor, type InspectionEvent, setup, waitFor } from 'xstate'
import { z } from 'zod'
import type { DecidedEvent } from '../../machines/orchestrators/decision.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import {
  AbortedError,
  ConfigurationError,
  ModelError,
  OutputValidationError,
} from '../../src/messages/errors.ts'
import { modelMessage, textOf, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from '../engine/sampleTools.ts'
import { idle } from '../engine/watching.ts'

const events = {
  guess: { description: 'Guess the number', input: z.object({ number: z.int().max(10) }) },
  'give.up': { description: 'Stop playing' },
}
type Events = typeof events

const choose = (name: string, args: Record<string, number | string> = {}, id = name): ScriptTurn => [
  { text: 'Let me think.' },
  { toolCall: { id, name, arguments: args } },
]

const decider = (turns: ScriptTurn[], options: Partial<Parameters<typeof createDecision>[0]> = {}) => {
  const model = scriptedModel(turns)
  return { model, decide: createDecision({ ...options, model, events }) }
}

type Outcome = { output: DecidedEvent<Events> | undefined; error: unknown }

/** The decision on its own, without a parent. */
const outcomeOf = async (
  decide: ReturnType<typeof decider>['decide'],
  input: { prompt: string; allowed?: ('guess' | 'give.up')[] } = { prompt: 'Which?' },
): Promise<Outcome> => {
  const actor = createActor(decide, { input })
  const settled = new Promise<void>((resolve) =>
    actor.subscribe({ complete: () => resolve(), error: () => resolve() }),
  )
  actor.start()
  await settled
  const { output, error } = actor.getSnapshot()
  return { output, error }
}

describe('a decision', () => {
  test('is the event that the model chose, with its validated payload', async () => {
    const { decide, model } = decider([choose('guess', { number: 7 })])
    expect(await outcomeOf(decide)).toEqual({ output: { type: 'guess', number: 7 }, error: undefined })
    model.assertDone()
  })

  test('may have no payload, and a type that no tool could be named after', async () => {
    const { decide, model } = decider([choose('give_up', { number: 7 })])
    expect((await outcomeOf(decide)).output).toEqual({ type: 'give.up' })
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['guess', 'give_up'])
  })

  test('must be made: the model must call one tool', async () => {
    const { decide, model } = decider([choose('give_up')], { temperature: 0.5 })
    await outcomeOf(decide)
    expect(model.requests[0]).toMatchObject({
      toolChoice: 'required',
      parallelToolCalls: false,
      temperature: 0.5,
    })
  })

  test('is asked for with the history and the system prompt', async () => {
    const { decide, model } = decider([choose('give_up')], { system: 'You play.' })
    const history = [userMessage('Hello.'), modelMessage('Hi.')]
    const actor = createActor(decide, { input: { prompt: 'Which?', history } }).start()
    await waitFor(actor, ({ status }) => status === 'done')
    expect(model.requests[0]?.messages.map(textOf)).toEqual(['You play.', 'Hello.', 'Hi.', 'Which?'])
  })

  test('is made between the events that are allowed now; the model sees no others', async () => {
    const { decide, model } = decider([choose('guess', { number: 1 }), choose('give_up')])
    await outcomeOf(decide, { prompt: 'Which?', allowed: ['guess'] })
    await outcomeOf(decide, { prompt: 'Which?', allowed: ['give.up'] })
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
      ['guess'],
      ['give_up'],
    ])
  })

  test('an event that is not allowed cannot be chosen', async () => {
    const { decide } = decider([choose('guess', { number: 1 }, 'a'), choose('give_up')])
    expect((await outcomeOf(decide, { prompt: 'Which?', allowed: ['give.up'] })).output?.type).toBe('give.up')
  })

  test('a payload that does not fit goes back to the model', async () => {
    const { decide, model } = decider([
      choose('guess', { number: 11 }, 'a'),
      choose('guess', { number: 10 }, 'b'),
    ])
    expect((await outcomeOf(decide)).output).toEqual({ type: 'guess', number: 10 })
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('number')
  })

  test('the first of two choices counts', async () => {
    const both: ScriptTurn = [
      { toolCall: { id: 'a', name: 'guess', arguments: { number: 11 } } },
      { toolCall: { id: 'b', name: 'guess', arguments: { number: 3 } } },
      { toolCall: { id: 'c', name: 'give_up' } },
    ]
    expect((await outcomeOf(decider([both]).decide)).output).toEqual({ type: 'guess', number: 3 })
  })

  test('a payload cannot change the type of the event', async () => {
    const model = scriptedModel([choose('set', { type: 'give.up', to: 'x' })])
    const input = z.object({ type: z.string(), to: z.string() })
    const decide = createDecision({ model, events: { set: { description: 'Sets', input } } })
    const actor = createActor(decide, { input: { prompt: 'Which?' } }).start()
    const { output } = await waitFor(actor, ({ status }) => status === 'done')
    expect(output).toEqual({ type: 'set', to: 'x' })
  })

  test('other tools may be used before it', async () => {
    const echo = recorder()
    const look: ScriptTurn = [{ toolCall: { id: 'e', name: 'echo' } }]
    const { decide } = decider([look, choose('guess', { number: 2 })], { tools: [echo.tool] })
    expect((await outcomeOf(decide)).output).toEqual({ type: 'guess', number: 2 })
    expect(echo.calls).toEqual(['e'])
  })

  test('a model that only talks is reminded once', async () => {
    const { decide, model } = decider(['Hard to say.', choose('give_up')])
    expect((await outcomeOf(decide)).output).toEqual({ type: 'give.up' })
    const asked = model.requests[1]?.messages.map(textOf) ?? []
    expect(asked.slice(0, 2)).toEqual(['Which?', 'Hard to say.'])
    expect(asked[2]).toContain('guess, give_up')
  })
})

describe('a decision that is not made', () => {
  test('because the model only talks fails with what it said', async () => {
    const { decide, model } = decider(['Hard to say.', 'Really.'])
    const { output, error } = await outcomeOf(decide)
    expect(output).toBeUndefined()
    expect(error).toBeInstanceOf(OutputValidationError)
    expect(error).toMatchObject({ rawOutput: 'Really.', message: expect.stringContaining('give.up') })
    model.assertDone()
  })

  test('because no payload fits fails after a bounded number of tries', async () => {
    const wrong = Array.from({ length: 4 }, (_, n) => choose('guess', { number: 11 }, `g${n}`))
    const { decide, model } = decider(wrong, { maxSteps: 2 })
    expect((await outcomeOf(decide)).error).toBeInstanceOf(OutputValidationError)
    model.assertDone()
  })

  test('because the model fails is its error', async () => {
    const { decide } = decider([[{ error: { message: 'boom', status: 400 } }]])
    const { error } = await outcomeOf(decide)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: 'boom', status: 400 })
  })

  test('because it was aborted closes the request', async () => {
    const { decide, model } = decider([[{ text: 'Let' }, { hang: true }]])
    const actor = createActor(decide, { input: { prompt: 'Which?' } })
    const failed = new Promise((resolve) => actor.subscribe({ error: resolve }))
    actor.start()
    await idle()
    actor.send({ type: 'abort', reason: 'enough' })
    const error = await failed
    expect(error).toBeInstanceOf(AbortedError)
    expect(String(error)).toContain('enough')
    expect(model.closed).toBe(1)
  })

  test('because nothing is allowed is a mistake of the caller', async () => {
    const { error } = await outcomeOf(decider([]).decide, { prompt: 'Which?', allowed: [] })
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(() => createDecision({ model: scriptedModel([]), events: {} })).toThrow(ConfigurationError)
  })

  test('because a custom executor gives something else than a payload is not made up', async () => {
    const turns = [choose('guess', { number: 1 }, 'a'), choose('guess', { number: 1 }, 'b')]
    const executeSingle = async ({ id, name }: { id: string; name: string }) => ({
      type: 'toolResult' as const,
      id,
      name,
      result: 'done!',
    })
    const { error } = await outcomeOf(decider(turns, { toolExecutor: { executeSingle } }).decide)
    expect(error).toBeInstanceOf(OutputValidationError)
  })

  test('two events whose tools would have the same name are refused', () => {
    const same = { 'a.b': { description: '1' }, a_b: { description: '2' } }
    expect(() => createDecision({ model: scriptedModel([]), events: same })).toThrow(ConfigurationError)
  })
})

/** A game whose next move the model decides, by events. */
const game = (decide: ReturnType<typeof decider>['decide']) =>
  setup({
    types: {
      context: {} as { guesses: number[]; done: number; problem: string },
      events: {} as DecidedEvent<Events>,
    },
    actors: { decide },
  }).createMachine({
    context: { guesses: [], done: 0, problem: '' },
    initial: 'Playing',
    states: {
      Playing: {
        invoke: {
          id: 'decide',
          src: 'decide',
          input: ({ context }) => ({
            prompt: `Guess number ${context.guesses.length + 1}`,
            allowed: ['guess', 'give.up'],
          }),
          onDone: { actions: assign({ done: ({ context }) => context.done + 1 }) },
          onError: { target: 'Stuck', actions: assign({ problem: ({ event }) => String(event.error) }) },
        },
        on: {
          guess: {
            target: 'Playing',
            reenter: true,
            actions: assign({ guesses: ({ context, event }) => [...context.guesses, event.number] }),
          },
          'give.up': 'Over',
        },
      },
      Over: { type: 'final' },
      Stuck: { type: 'final' },
    },
  })

describe('inside a machine', () => {
  const turns = [choose('guess', { number: 5 }), choose('guess', { number: 7 }), choose('give_up')]

  test('the event moves the parent, which may ask for the next one at once, and gets no done event of the last', async () => {
    const { decide, model } = decider(turns)
    const actor = createActor(game(decide)).start()
    const { value, context } = await waitFor(actor, ({ status }) => status === 'done')
    expect([value, context.guesses, context.done]).toEqual(['Over', [5, 7], 0])
    model.assertDone()
  })

  test('a parent that does not take the event gets it as the output', async () => {
    const { decide } = decider([choose('guess', { number: 5 })])
    const machine = setup({
      types: { context: {} as { chosen: DecidedEvent<Events> | null } },
      actors: { decide },
    }).createMachine({
      context: { chosen: null },
      initial: 'Deciding',
      states: {
        Deciding: {
          invoke: {
            src: 'decide',
            input: { prompt: 'Which?' },
            onDone: { target: 'Done', actions: assign({ chosen: ({ event }) => event.output }) },
          },
        },
        Done: { type: 'final' },
      },
    })
    const { context } = await waitFor(createActor(machine).start(), ({ status }) => status === 'done')
    expect(context.chosen).toEqual({ type: 'guess', number: 5 })
  })

  test('a failure is onError of the parent, typed', async () => {
    const { decide } = decider(['Hm.', 'Hm.'])
    const { value, context } = await waitFor(
      createActor(game(decide)).start(),
      ({ status }) => status === 'done',
    )
    expect([value, context.problem]).toEqual(['Stuck', expect.stringMatching(/^OutputValidationError: /)])
  })

  test('leaving the state closes the request', async () => {
    const { decide, model } = decider([[{ text: 'Let' }, { hang: true }]])
    const actor = createActor(game(decide)).start()
    await idle()
    actor.send({ type: 'give.up' })
    expect(actor.getSnapshot().value).toBe('Over')
    expect(model.closed).toBe(1)
  })

  test('the parent can be stored in the middle of a decision, and the model is asked again', async () => {
    const first = decider([choose('guess', { number: 5 }), [{ text: 'Let' }, { hang: true }]])
    const actor = createActor(game(first.decide)).start()
    await waitFor(actor, ({ context }) => context.guesses.length === 1)
    await idle()
    const stored = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    actor.stop()
    const second = decider(turns.slice(1))
    const again = createActor(game(second.decide), { snapshot: stored }).start()
    const { context } = await waitFor(again, ({ status }) => status === 'done')
    expect(context.guesses).toEqual([5, 7])
    expect(second.model.requests[0]?.messages.map(textOf)).toEqual(['Guess number 2'])
  })

  test('what the model says on the way can be listened to', async () => {
    const { decide } = decider([choose('guess', { number: 5 })])
    const actor = createActor(decide, { input: { prompt: 'Which?' } })
    const shown: string[] = []
    const usage: unknown[] = []
    actor.on('chunk', ({ output, finishReason }) => shown.push(output, finishReason))
    actor.on('step', (step) => usage.push(step.usage))
    actor.start()
    await waitFor(actor, ({ status }) => status === 'done')
    expect(shown.filter((text) => text !== '' && text !== 'unspecified')).toEqual(['Let me think.'])
    expect(usage).toHaveLength(1)
  })

  test('the inspector shows its run below it', async () => {
    const { decide } = decider([choose('give_up')])
    const seen: string[] = []
    const path = (ref: AnyActorRef): string => (ref._parent ? `${path(ref._parent)}/${ref.id}` : ref.id)
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.actor') seen.push(path(event.actorRef as AnyActorRef))
    }
    const actor = createActor(game(decide), { inspect, id: 'game' }).start()
    await waitFor(actor, ({ status }) => status === 'done')
    expect(seen).toEqual(expect.arrayContaining(['game/decide', 'game/decide/run', 'game/decide/run/model']))
  })
})

test('the types of the events are those of their schemas', () => {
  expectTypeOf<DecidedEvent<Events>>().toEqualTypeOf<
    ({ number: number } & { type: 'guess' }) | (unknown & { type: 'give.up' })
  >()
  const { decide } = decider([])
  expectTypeOf(createActor(decide, { input: { prompt: 'x' } }).getSnapshot().output).toEqualTypeOf<
    DecidedEvent<Events> | undefined
  >()
  // @ts-expect-error: no such event can be allowed
  createActor(decide, { input: { prompt: 'x', allowed: ['guess', 'leave'] } })
})
