import { describe, expectTypeOf, test } from 'vitest'
import {
  assign,
  createActor,
  type EventObject,
  fromCallback,
  fromPromise,
  type OutputFrom,
  setup,
  toPromise,
} from 'xstate'
import { z } from 'zod'
import {
  type AgentOutput,
  type AgentReport,
  type ModelInput,
  reasoningOrchestrator,
  type StreamingState,
  type TimerInput,
} from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { aguiHandler, uiMessageHandler } from '../../src/ui/index.ts'

type User = { userId: string }
const model = scriptedModel([])
const whoami = tool({
  name: 'whoami',
  description: '',
  execute: (_, { context }: ToolContext<User>) => context.userId,
})
const plain = new Agent(model)
const needy = new Agent(model, { tools: [whoami] })
const phased = new Agent(model, { tools: [whoami], orchestrator: reasoningOrchestrator() })
const city = z.object({ name: z.string(), founded: z.string().transform((year) => new Date(year)) })
type City = { name: string; founded: Date }

describe('the context of an embedded agent', () => {
  test('is required where a tool needs it, and typed', () => {
    createActor(needy.machine, { input: { prompt: 'x', context: { userId: 'ada' } } })
    createActor(phased.machine, { input: { prompt: 'x', context: { userId: 'ada' } } })
    createActor(needy.machineFor(city), { input: { prompt: 'x', context: { userId: 'ada' } } })
    // @ts-expect-error there is no input
    createActor(needy.machine)
    // @ts-expect-error the context is missing
    createActor(needy.machine, { input: { prompt: 'x' } })
    // @ts-expect-error the context is missing
    createActor(phased.machine, { input: { prompt: 'x' } })
    // @ts-expect-error the context is missing
    createActor(needy.machineFor(city), { input: { prompt: 'x' } })
    // @ts-expect-error the context is of another type
    createActor(needy.machine, { input: { prompt: 'x', context: { userId: 1 } } })
    // @ts-expect-error the values of a machine for one run have the context, too
    needy.machineFor(undefined, {})
  })

  test('is required in an invoke', () => {
    const parts = setup({ actors: { needy: needy.machine, plain: plain.machine } })
    parts.createMachine({
      invoke: [
        { src: 'needy', input: { prompt: 'x', context: { userId: 'ada' } } },
        { src: 'plain', input: { prompt: 'x' } },
      ],
    })
    // @ts-expect-error the context is missing
    parts.createMachine({ invoke: { src: 'needy', input: { prompt: 'x' } } })
  })

  test('may be left out where no tool needs it', () => {
    createActor(plain.machine, { input: { prompt: 'x' } })
    createActor(plain.machineFor(city), { input: { prompt: 'x' } })
  })

  test('is given by the handlers', () => {
    const context = (request: Request) => ({ userId: request.url })
    uiMessageHandler(plain)
    uiMessageHandler(needy, { context })
    aguiHandler(needy, { context: async (request) => context(request) })
    // @ts-expect-error the context is missing
    uiMessageHandler(needy)
    // @ts-expect-error the context is missing
    aguiHandler(needy, { maxWaiting: 1 })
    // @ts-expect-error the context is missing
    aguiHandler(phased)
    // @ts-expect-error the context is of another type
    uiMessageHandler(needy, { context: () => ({ userId: 1 }) })
  })
})

describe('machineFor', () => {
  test('gives the type of the schema', () => {
    const machine = plain.machineFor(city)
    expectTypeOf<OutputFrom<typeof machine>>().toEqualTypeOf<AgentOutput<City>>()
    expectTypeOf(toPromise(createActor(machine, { input: {} }))).resolves.toEqualTypeOf<AgentOutput<City>>()
    const output = {} as OutputFrom<typeof machine>
    if (output.status === 'complete') expectTypeOf(output.output).toEqualTypeOf<City>()
    else expectTypeOf(output.output).toEqualTypeOf<string>()
    if (output.status === 'failed') expectTypeOf(output.error).toEqualTypeOf<ErrorData>()
  })

  test('types the events and assigns of a parent', () => {
    setup({
      types: {
        context: {} as { founded: Date | undefined; calls: PendingCall[] },
        events: {} as AgentReport<City>,
      },
      actors: { city: plain.machineFor(city) },
    }).createMachine({
      context: { founded: undefined, calls: [] },
      invoke: {
        src: 'city',
        input: { prompt: 'x' },
        onDone: {
          actions: assign({
            founded: ({ event: { output } }) =>
              output.status === 'complete' ? output.output.founded : undefined,
          }),
        },
      },
      on: { 'agent.waiting': { actions: assign({ calls: ({ event }) => event.calls }) } },
    })
  })
})

describe('provide', () => {
  test('types the names, the data and the parameters', () => {
    plain.machine.provide({
      guards: {
        isWorthRetrying: ({ context }) => {
          expectTypeOf(context).toEqualTypeOf<StreamingState>()
          return context.request.attempt < 5
        },
        isPastDeadline: (_, { at }) => at > 1,
      },
      actions: {
        noteFailure: (_, { error }) => expectTypeOf(error).toEqualTypeOf<ErrorData>(),
        beginStep: assign(({ context }) => ({ step: context.step + 1 })),
      },
      actors: { timer: fromCallback<EventObject, { at: number | null }>(() => {}) },
    })
    // @ts-expect-error there is no such guard
    plain.machine.provide({ guards: { isWorthRetryng: () => true } })
    // @ts-expect-error a guard says yes or no
    plain.machine.provide({ guards: { isWorthRetrying: () => 'yes' } })
    // @ts-expect-error its parameter is a time
    plain.machine.provide({ guards: { isPastDeadline: (_, { at }: { at: string }) => at === '' } })
    // @ts-expect-error its input is a time
    plain.machine.provide({ actors: { timer: fromCallback<EventObject, { at: string }>(() => {}) } })
    // @ts-expect-error there is no such child
    plain.machine.provide({ actors: { modell: plain.machine } })
    plain.machine.provide({ actors: { model: fromCallback<EventObject, ModelInput>(() => {}) } })
    plain.machine.provide({ actors: { timer: fromCallback<EventObject, TimerInput>(() => {}) } })
    // @ts-expect-error the answer of a model is what it sends, not its output
    plain.machine.provide({ actors: { model: fromPromise(async () => 'Hello.') } })
  })
})
