import { describe, expect, test } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { createPhasedMachine, historyOf } from '../../machines/index.ts'
import {
  Agent,
  type AgentCommand,
  type AgentInput,
  type AgentOutput,
  Chat,
  type ChatResult,
  OrchestrationError,
  type Orchestrator,
  textOf,
  tool,
} from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { rejection } from '../engine/watching.ts'

// Orchestrators as a user would write them: with what the package exports, and nothing else.

/** Answers, then says it again in French. */
const inFrench: Orchestrator = {
  providerHint: 'in-french',
  create: ({ lifecycle }) =>
    createPhasedMachine({
      id: 'in-french',
      phases: {
        Answering: { run: lifecycle(), input: ({ input }) => input, next: 'Translating' },
        Translating: {
          run: lifecycle({ tools: [], system: 'Translate into French.' }),
          input: (state) => ({ history: historyOf(state), prompt: 'Again, in French.' }),
          next: 'Complete',
        },
      },
    }),
}

const french = (turns: ScriptTurn[]) => {
  const model = scriptedModel(turns)
  return { model, agent: new Agent(model, { orchestrator: inFrench, system: 'Be brief.' }) }
}

describe('an orchestrator of the user’s own', () => {
  test('is what send, sendStream and Chat run', async () => {
    const turns = ['Hello.', 'Bonjour.']
    expect((await french(turns).agent.send('Greet me.')).output).toBe('Hello.\nBonjour.')
    let streamed = ''
    for await (const { output } of french(turns).agent.sendStream('Greet me.')) streamed += output
    expect(streamed).toBe('Hello.Bonjour.')
    const chat = new Chat(french(turns).agent)
    await chat.send('Greet me.')
    expect(chat.history.map(textOf)).toEqual(['Greet me.', 'Hello.', 'Again, in French.', 'Bonjour.'])
  })

  test('may replace parts of the agent’s configuration run by run', async () => {
    const { agent, model } = french(['Hello.', 'Bonjour.'])
    await agent.send('Greet me.')
    const systems = model.requests.map(({ messages }) => messages[0] && textOf(messages[0]))
    expect(systems).toEqual(['Be brief.', 'Translate into French.'])
  })

  test('may be the lifecycle with other settings, and nothing more', async () => {
    const model = scriptedModel(['ok'])
    const calm: Orchestrator = {
      providerHint: 'calm',
      create: ({ config, lifecycle }) => lifecycle({ settings: { ...config.settings, temperature: 0 } }),
    }
    const agent = new Agent(model, { orchestrator: calm, temperature: 1, seed: 5 })
    expect((await agent.send('Hi.')).output).toBe('ok')
    expect(model.requests[0]).toMatchObject({ temperature: 0, seed: 5 })
  })

  const answer = (output: string): ChatResult => ({
    id: '',
    output,
    messages: [],
    finishReason: 'stop',
    metadata: {},
  })

  test('may be any actor logic that ends with an output', async () => {
    const canned: Orchestrator = {
      providerHint: 'canned',
      create: () =>
        fromPromise<AgentOutput, AgentInput>(async ({ input }) => ({
          status: 'complete',
          ...answer(`You said: ${input.prompt}`),
        })),
    }
    const agent = new Agent(scriptedModel([]), { orchestrator: canned })
    expect((await agent.send('Hi.')).output).toBe('You said: Hi.')
  })
})

describe('an orchestrator that breaks', () => {
  test('in one of its runs fails with an OrchestrationError that names it and the state', async () => {
    const hasCalls = () => {
      throw new RangeError('in a guard')
    }
    const broken: Orchestrator = {
      ...inFrench,
      create: (parts) =>
        inFrench.create({ ...parts, lifecycle: () => parts.lifecycle().provide({ guards: { hasCalls } }) }),
    }
    const agent = new Agent(scriptedModel(['Hello.']), { orchestrator: broken })
    const error = await rejection(agent.send('Greet me.'), OrchestrationError)
    expect(error).toMatchObject({ orchestrator: 'in-french', state: 'Answering' })
    expect(error.message).toContain('in a guard')
  })

  test('in itself fails with an OrchestrationError that names its machine and the state', async () => {
    const bad: Orchestrator = {
      providerHint: 'bad',
      create: () =>
        setup({
          types: { events: {} as AgentCommand },
          actors: { think: fromPromise(() => Promise.reject(new RangeError('no idea'))) },
        }).createMachine({
          id: 'bad',
          initial: 'Thinking',
          states: {
            Thinking: { invoke: { id: 'think', src: 'think' } },
          },
        }),
    }
    const error = await rejection(
      new Agent(scriptedModel([]), { orchestrator: bad }).send('Hi.'),
      OrchestrationError,
    )
    expect(error.orchestrator).toBe('bad')
    expect(error.state).toContain('Thinking')
    expect(error.message).toContain('no idea')
    expect(error.cause).toBeInstanceOf(RangeError)
  })

  test('in what it relays fails with an OrchestrationError, and closes the run below it', async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const bad: Orchestrator = {
      providerHint: 'bad',
      create: ({ lifecycle }) =>
        createPhasedMachine({
          id: 'bad',
          phases: {
            Only: {
              run: lifecycle(),
              input: ({ input }) => input,
              relay: (emitted) => {
                if (emitted.type === 'chunk' && emitted.output === 'b') throw new RangeError('cannot relay')
                return [emitted]
              },
              next: 'Complete',
            },
          },
        }),
    }
    const error = await rejection(new Agent(model, { orchestrator: bad }).send('Hi.'), OrchestrationError)
    expect(error.message).toContain('cannot relay')
    expect(model.closed).toBe(1)
  })

  test('as an actor that is not a machine fails with an OrchestrationError, too', async () => {
    const bad: Orchestrator = {
      providerHint: 'bad',
      create: () => fromPromise(() => Promise.reject(new RangeError('no idea'))),
    }
    const error = await rejection(
      new Agent(scriptedModel([]), { orchestrator: bad }).send('Hi.'),
      OrchestrationError,
    )
    expect(error.message).toContain('no idea')
  })

  test('when it is made rejects the send', async () => {
    const bad: Orchestrator = {
      providerHint: 'bad',
      create: () => {
        throw new RangeError('cannot be made')
      },
    }
    const agent = new Agent(scriptedModel([]), {
      orchestrator: bad,
      tools: [tool({ name: 'a', description: '', execute: () => 1 })],
    })
    await expect(agent.send('Hi.')).rejects.toThrow('cannot be made')
  })
})
