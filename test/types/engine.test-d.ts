import { describe, expectTypeOf, test } from 'vitest'
import { createActor, type SnapshotFrom } from 'xstate'
import { z } from 'zod'
import {
  type AgentEmitted,
  type AgentInput,
  type AgentMachine,
  type AgentOutput,
  createPhasedMachine,
  reasoningOrchestrator,
  type StreamingState,
} from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { errorFrom, type ModelError, type StatewireError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage, Part, ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type {
  ChatResult,
  FinishReason,
  PendingApproval,
  PendingCall,
  SendResult,
  Usage,
} from '../../src/messages/result.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Infer, StandardSchema } from '../../src/tools/schema.ts'
import { type Tool, type ToolContext, tool } from '../../src/tools/tool.ts'

const model = scriptedModel([])
const agent = new Agent(model)
const city = z.object({ name: z.string(), celsius: z.number().optional() })
type City = { name: string; celsius?: number | undefined }
declare const standard: StandardSchema<{ n: number }>
const jsonSchema = { type: 'object' }

describe('tool', () => {
  test('types the arguments of execute and needsApproval from a zod schema', () => {
    const made = tool({
      name: 't',
      description: '',
      input: city,
      needsApproval: (args) => {
        expectTypeOf(args).toEqualTypeOf<City>()
        return true
      },
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<City>()
        expectTypeOf(context).toEqualTypeOf<ToolContext>()
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(context.callId).toEqualTypeOf<string>()
      },
    })
    expectTypeOf(made).toExtend<Tool>()
    expectTypeOf(made.name).toEqualTypeOf<'t'>()
  })

  test('types them after transforms: what the schema gives, not what it takes', () => {
    tool({
      name: 't',
      description: '',
      input: z.object({
        when: z.string().transform((text) => new Date(text)),
        unit: z.string().default('C'),
      }),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ when: Date; unit: string }>(),
    })
  })

  test('types them as JSON for a bare JSON Schema, and for no input at all', () => {
    tool({
      name: 't',
      description: '',
      input: { jsonSchema },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
    })
    tool({ name: 't', description: '', execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() })
  })

  test('types them from the Standard Schema beside a JSON Schema', () => {
    tool({
      name: 't',
      description: '',
      input: { jsonSchema, schema: standard },
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ n: number }>(),
    })
  })

  test('Infer gives the output of a schema', () => {
    expectTypeOf<Infer<typeof city>>().toEqualTypeOf<City>()
    expectTypeOf<Infer<typeof standard>>().toEqualTypeOf<{ n: number }>()
    expectTypeOf<Infer<{ jsonSchema: JsonObject }>>().toEqualTypeOf<JsonObject>()
  })
})

describe('results', () => {
  test('a result says whether its run waits, and for what', () => {
    expectTypeOf<SendResult['status']>().toEqualTypeOf<'complete' | 'waiting'>()
    expectTypeOf<
      Extract<SendResult, { status: 'waiting' }>['pendingApproval']
    >().toEqualTypeOf<PendingApproval>()
    expectTypeOf<Extract<SendResult, { status: 'complete' }>['pendingApproval']>().toEqualTypeOf<undefined>()
  })

  test('send gives text, sendFor gives the schema’s type', () => {
    expectTypeOf(agent.send('x')).resolves.toEqualTypeOf<SendResult>()
    expectTypeOf(agent.send('x')).resolves.toHaveProperty('output').toEqualTypeOf<string>()
    expectTypeOf(agent.sendFor('x', city)).resolves.toHaveProperty('output').toEqualTypeOf<City>()
    expectTypeOf(agent.sendFor('x', { jsonSchema }))
      .resolves.toHaveProperty('output')
      .toEqualTypeOf<JsonObject>()
    expectTypeOf(agent.sendFor('x', { jsonSchema, schema: standard }))
      .resolves.toHaveProperty('output')
      .toEqualTypeOf<{ n: number }>()
  })

  test('a chat gives the same', () => {
    const chat = new Chat(agent)
    expectTypeOf(chat.sendFor('x', city)).resolves.toHaveProperty('output').toEqualTypeOf<City>()
    expectTypeOf(chat.history).toEqualTypeOf<readonly ChatMessage[]>()
    expectTypeOf(chat.send).parameter(1).not.toHaveProperty('history')
  })

  test('a stream yields results', () => {
    expectTypeOf(agent.sendStream('x')).toEqualTypeOf<AsyncIterableIterator<ChatResult>>()
  })

  test('a result has the pinned fields', () => {
    expectTypeOf<ChatResult>().toExtend<{
      id: string
      output: string
      messages: ChatMessage[]
      finishReason: FinishReason
      rawFinishReason?: string
      metadata: JsonObject
      usage?: Usage
    }>()
  })
})

describe('the actor', () => {
  const actor = agent.actor({ prompt: 'x' })

  test('types the events it emits', () => {
    actor.on('chunk', (event) => {
      expectTypeOf(event).toExtend<ChatResult>()
      expectTypeOf(event.output).toEqualTypeOf<string>()
    })
    actor.on('message', ({ message }) => expectTypeOf(message).toEqualTypeOf<ChatMessage>())
    actor.on('tool.call', ({ call, callId }) => {
      expectTypeOf(call).toEqualTypeOf<ToolCallPart>()
      expectTypeOf(callId).toEqualTypeOf<string>()
    })
    actor.on('tool.result', ({ result }) => expectTypeOf(result).toEqualTypeOf<ToolResultPart>())
    actor.on('step', ({ usage, metrics }) => {
      expectTypeOf(usage).toEqualTypeOf<Usage | null>()
      expectTypeOf(metrics.timeToFirstChunkMs).toEqualTypeOf<number | null>()
    })
    actor.on('retry', ({ restart, error }) => {
      expectTypeOf(restart).toEqualTypeOf<boolean>()
      expectTypeOf(error).toEqualTypeOf<ErrorData | null>()
    })
    expectTypeOf<Extract<AgentEmitted, { type: 'tool.delta' }>['arguments']>().toEqualTypeOf<string>()
  })

  test('types what it takes', () => {
    type Sent = Parameters<typeof actor.send>[0]
    expectTypeOf<{ type: 'abort' }>().toExtend<Sent>()
    expectTypeOf<{ type: 'abort'; reason: string }>().toExtend<Sent>()
    expectTypeOf<{ type: 'tool.approve'; callId: string }>().toExtend<Sent>()
    expectTypeOf<{ type: 'tool.reject'; callId: string; reason: string }>().toExtend<Sent>()
    expectTypeOf<{ type: 'steer'; text: string }>().toExtend<Sent>()
    expectTypeOf<{ type: 'tool.approve' }>().not.toExtend<Sent>()
    expectTypeOf<{ type: 'nonsense' }>().not.toExtend<Sent>()
    expectTypeOf<AgentInput['prompt']>().toEqualTypeOf<string | Part[] | undefined>()
  })

  test('types its snapshot: the public state names, the context, the output', () => {
    const snapshot = actor.getSnapshot()
    expectTypeOf(snapshot).toEqualTypeOf<SnapshotFrom<AgentMachine>>()
    type Matchable = Parameters<typeof snapshot.matches>[0]
    expectTypeOf<
      | 'Initialized'
      | 'MessageReset'
      | 'Accumulating'
      | 'Consolidating'
      | 'ToolCheck'
      | 'AwaitingApproval'
      | 'ToolExecution'
      | 'ToolResults'
      | 'Complete'
      | 'Failed'
      | 'Aborted'
    >().toExtend<Matchable>()
    expectTypeOf<{ Accumulating: 'Requesting' | 'Streaming' | 'BackingOff' }>().toExtend<Matchable>()
    expectTypeOf<'Streaming'>().not.toExtend<Matchable>()
    expectTypeOf<{ Accumulating: 'Nowhere' }>().not.toExtend<Matchable>()
    expectTypeOf(snapshot.context).toEqualTypeOf<StreamingState>()
    expectTypeOf(snapshot.hasTag).parameter(0).toEqualTypeOf<'streaming' | 'waiting'>()
  })

  test('types its output as a union on status', () => {
    const output = {} as AgentOutput
    expectTypeOf(output.status).toEqualTypeOf<'complete' | 'failed' | 'aborted'>()
    expectTypeOf(output.messages).toEqualTypeOf<ChatMessage[]>()
    if (output.status === 'failed') expectTypeOf(output.error).toEqualTypeOf<ErrorData>()
    else expectTypeOf(output).not.toHaveProperty('error')
    if (output.status === 'aborted') expectTypeOf(output.reason).toEqualTypeOf<string>()
  })
})

describe('errors', () => {
  test('carry typed fields', () => {
    const error = errorFrom({ name: 'ModelError', message: '' })
    expectTypeOf(error).toEqualTypeOf<StatewireError>()
    expectTypeOf<ModelError['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<ModelError['retryable']>().toEqualTypeOf<boolean>()
    expectTypeOf<StatewireError['partial']>().toEqualTypeOf<ChatResult | undefined>()
    expectTypeOf<ModelError['name']>().toEqualTypeOf<'ModelError'>()
  })
})

describe('the machine of an agent', () => {
  test('knows the states of its orchestrator', () => {
    const actor = createActor(new Agent(model, { orchestrator: reasoningOrchestrator() }).machine, {
      input: {},
    })
    expectTypeOf(actor.getSnapshot().matches('Analysis')).toEqualTypeOf<boolean>()
    // @ts-expect-error not a phase of it
    actor.getSnapshot().matches('Draft')
    const own = createPhasedMachine({
      id: 'own',
      phases: { Only: { run: new Agent(model).machine, input: ({ input }) => input, next: 'Complete' } },
    })
    expectTypeOf(createActor(own, { input: {} }).getSnapshot().matches('Only')).toEqualTypeOf<boolean>()
  })

  test('takes commands, not the events of its children', () => {
    const actor = createActor(new Agent(model).machine, { input: {} })
    actor.send({ type: 'tool.answer', callId: 'a', result: 1 })
    // @ts-expect-error only the model says that
    actor.send({ type: 'model.done', at: 1 })
  })
})

describe('the context of a request', () => {
  type Deps = { userId: string }
  const orders = tool({
    name: 'orders',
    description: '',
    input: city,
    execute: ({ name }, { context }: ToolContext<Deps>) => `${name} of ${context.userId}`,
  })
  const plain = tool({ name: 'plain', description: '', execute: () => 1 })

  test('is required where a tool needs it, and typed', () => {
    const needy = new Agent(model, { tools: [orders, plain] })
    needy.send('x', { context: { userId: 'ada' } })
    needy.start('x', { context: { userId: 'ada' } })
    new Chat(needy).send('x', { context: { userId: 'ada' } })
    // @ts-expect-error the context is missing
    needy.send('x')
    // @ts-expect-error the context is missing
    new Chat(needy).send('x')
    // @ts-expect-error the context is of another type
    needy.send('x', { context: { userId: 1 } })
    // @ts-expect-error an agent without that context cannot have the tool
    new Agent<unknown>(model, { tools: [orders] })
  })

  test('may be left out where no tool needs it', () => {
    new Agent(model, { tools: [plain] }).send('x')
    new Agent<Deps>(model, {
      tools: [plain, orders],
      prepareStep: ({ context }) => ({ system: context.userId }),
    })
  })
})

describe('the handle of a run', () => {
  test('gives what its schema says, and calls that wait', () => {
    expectTypeOf(agent.start('x').result).resolves.toHaveProperty('output').toEqualTypeOf<string>()
    const run = agent.start('x', { schema: city })
    expectTypeOf(run.result).resolves.toHaveProperty('output').toEqualTypeOf<City>()
    expectTypeOf(run.pending).toEqualTypeOf<PendingCall[]>()
    run.on('tool.call', ({ call }) => expectTypeOf(call.name).toEqualTypeOf<string>())
    const waiting = {} as PendingApproval
    const [first] = waiting.calls
    expectTypeOf(first).toEqualTypeOf<PendingCall>()
  })
})
