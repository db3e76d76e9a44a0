import { setup } from 'xstate'
import { z } from 'zod'
import { createPhasedMachine } from '../../machines/index.ts'
import { Agent, type AgentOptions, type ChatModel, type Orchestrator, tool } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'

// A process of its own, started by crashes.test.ts: it plays one scene and says how it ended. Nothing here listens for
// unhandled rejections or exceptions: one of them ends the process with another code than 0.

const asks: ScriptTurn = [{ toolCall: { id: 'a', name: 'act', arguments: { n: 1 } } }]

const act = (rest: object = {}) =>
  tool({
    name: 'act',
    description: 'Acts',
    input: z.object({ n: z.number() }),
    execute: () => 'acted',
    ...rest,
  })

const agentOf = (turns: ScriptTurn[], options: AgentOptions = {}) => new Agent(scriptedModel(turns), options)

const rejecting = z.object({ n: z.number() }).refine(async () => {
  await undefined
  throw new Error('the refinement broke')
})

/** What came of it, in one word and a text. */
const outcome = async (promise: Promise<unknown>): Promise<string> => {
  try {
    const { output = 'nothing', pendingApproval } = (await promise) as {
      output?: unknown
      pendingApproval?: object
    }
    return pendingApproval ? 'waits' : `complete ${JSON.stringify(output)}`
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : `raw ${String(error)}`
  }
}

const orchestrated = (create: () => unknown): Promise<string> => {
  const orchestrator = { providerHint: 'odd', create } as unknown as Orchestrator
  return outcome((async () => agentOf(['hi'], { orchestrator }).send('Go'))())
}

const ending = (output: unknown) => () =>
  setup({}).createMachine({
    initial: 'Over',
    states: { Over: { type: 'final' } },
    output: () => output,
  })

/** The same question to a listener that throws and to one that rejects. */
const listening = async (listener: () => unknown): Promise<string> => {
  const run = agentOf([asks, 'done'], { tools: [act()] }).start('Go')
  run.on('*', listener)
  run.on('chunk', listener)
  run.on('tool.call', listener)
  return outcome(run.result)
}

const broken = () => {
  throw new Error('broken')
}
const rejects = () => Promise.reject(new Error('rejected'))

const prepared = (prepareStep: () => unknown) =>
  outcome(agentOf(['hi'], { prepareStep: prepareStep as never, tools: [act()] }).send('Go'))

const oddModel = (stream: ChatModel['stream']): ChatModel => ({ ...scriptedModel([]), stream })

const failing = { name: 'ModelError', message: 'busy', retryable: true } as const

const scenes: Record<string, () => Promise<string>> = {
  fallbackFromUnsent: () =>
    outcome(
      new Agent('google:models/../gemini', {
        apiKey: 'k',
        retry: { maxRetries: 0 },
        fallback: [scriptedModel([asks, 'done'])],
        tools: [act({ execute: broken })],
      }).send('Go'),
    ),
  refinementOfInput: () =>
    outcome(agentOf([asks, 'done'], { tools: [act({ input: rejecting })] }).send('Go')),
  refinementOfApproval: async () => {
    const agent = agentOf([asks, 'done'], { tools: [act({ input: rejecting, needsApproval: true })] })
    const { pendingApproval } = await agent.send('Go')
    if (!pendingApproval) return 'nothing waits'
    return outcome(agent.resume(pendingApproval, { a: true }))
  },
  refinementOfRule: () =>
    outcome(agentOf([asks, 'done'], { tools: [act({ needsApproval: rejects as never })] }).send('Go')),
  refinementOfOutput: () => outcome(agentOf(['{"n":1}', '{"n":1}']).sendFor('Go', rejecting)),
  refinementOfReturned: () => {
    const model = scriptedModel(
      [1, 2, 3].map(() => [{ toolCall: { name: 'return_result', arguments: { n: 1 } } }]),
      { profile: { nativeSchema: false } },
    )
    return outcome(new Agent(model, { maxSteps: 2 }).sendFor('Go', rejecting))
  },
  refinementOfStream: async () => {
    const read = async () => {
      for await (const _ of agentOf(['{"n":1}', '{"n":1}']).sendStreamFor('Go', rejecting));
    }
    return outcome(read())
  },
  throwingListener: () => listening(broken),
  rejectingListener: () => listening(rejects),
  throwingInspector: () => outcome(agentOf(['hi'], { inspect: broken }).send('Go')),
  throwingOnStart: () => outcome(agentOf(['hi']).send('Go', { onStart: broken })),
  rejectingOnStart: () =>
    outcome(agentOf(['hi']).send('Go', { onStart: () => void rejects().catch(() => {}) })),
  orchestratorWithoutOutput: () => orchestrated(ending(undefined)),
  orchestratorWithText: () => orchestrated(ending('a text')),
  orchestratorWithNull: () => orchestrated(ending(null)),
  orchestratorWithWrongMessages: () =>
    orchestrated(ending({ status: 'complete', output: 'x', messages: [null] })),
  orchestratorOfNothing: () => orchestrated(() => undefined),
  orchestratorThatThrows: () => orchestrated(broken),
  orchestratorWithThrowingGuard: () =>
    outcome(
      agentOf(['hi'], {
        orchestrator: {
          providerHint: 'guarded',
          create: ({ lifecycle }) =>
            createPhasedMachine({
              id: 'guarded',
              phases: {
                One: {
                  run: lifecycle(),
                  input: ({ input }) => input,
                  next: [{ when: 'odd', to: 'Complete' }],
                },
              },
              guards: { odd: broken },
            }),
        },
      }).send('Go'),
    ),
  endAfterFail: () => {
    let count = 0
    const model = oddModel((_, sink) => {
      count += 1
      if (count === 1) sink.fail(failing)
      else
        sink.deltas([
          { type: 'text', text: 'second' },
          { type: 'finish', reason: 'stop' },
        ])
      sink.end()
      sink.fail(failing)
      return () => {}
    })
    return outcome(new Agent(model, { retry: { initialDelayMs: 1 } }).send('Go'))
  },
  modelThatThrows: () => outcome(new Agent(oddModel(broken), { retry: { maxRetries: 0 } }).send('Go')),
  modelThatRejects: () =>
    outcome(new Agent(oddModel(rejects as never), { retry: { maxRetries: 0 } }).send('Go')),
  modelThatThrowsAtClose: async () => {
    const run = new Agent(oddModel(() => broken)).start('Go')
    setTimeout(() => run.abort(), 5)
    return outcome(run.result)
  },
  approvalThatThrows: () =>
    outcome(
      agentOf([asks, 'done'], { tools: [act({ needsApproval: true })], onApproval: broken }).send('Go'),
    ),
  approvalThatRejects: () =>
    outcome(
      agentOf([asks, 'done'], { tools: [act({ needsApproval: true })], onApproval: rejects }).send('Go'),
    ),
  approvalThatChangesItsCall: async () => {
    const ran: unknown[] = []
    const tools = [act({ needsApproval: true, execute: (args: unknown) => ran.push(args) })]
    const onApproval: NonNullable<AgentOptions['onApproval']> = (call) => {
      call.arguments.n = 666
      return true
    }
    return `${await outcome(agentOf([asks, 'done'], { tools, onApproval }).send('Go'))} ${JSON.stringify(ran)}`
  },
  stepThatThrows: () => prepared(broken),
  stepThatRejects: () => prepared(rejects),
  stepOfText: () => prepared(() => 'nonsense'),
  stepOfWrongTools: () => prepared(() => ({ tools: [null] })),
  stepOfNoList: () => prepared(() => ({ tools: 7 })),
  stepOfWrongModel: () => prepared(() => ({ model: 7 })),
  stepOfUnknownModel: () => prepared(() => ({ model: 'unknown:at-all' })),
  stepOfWrongSystem: () => prepared(() => ({ system: 7 })),
  stepOfWrongSettings: () => prepared(() => ({ settings: 7 })),
  stepThatNeverSettles: async () => {
    const run = agentOf(['hi'], { prepareStep: () => new Promise(() => {}) }).start('Go')
    setTimeout(() => run.abort('too long'), 5)
    return outcome(run.result)
  },
  unreadResult: async () => {
    agentOf([[{ error: { message: 'no' } }]]).start('Go')
    const run = agentOf([[{ error: { message: 'no' } }]]).start('Go')
    await new Promise((next) => setTimeout(next, 5))
    return outcome(run.result)
  },
}

const scene = scenes[process.argv[2] ?? '']
console.log(scene ? await scene() : JSON.stringify(Object.keys(scenes)))
