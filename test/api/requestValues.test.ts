/** What is given with one request counts for this request alone, reaches everything it is meant for, and nothing else. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptedModel, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { settled, waitOf } from './askingAgent.ts'

type Deps = { user: string; token: string } | undefined
const deps: Deps = { user: 'lovelace', token: 'sk-very-secret-token' }
const schema = z.object({ n: z.number() })

const calls = (...names: string[]): ScriptTurn =>
  names.map((name, at) => ({ toolCall: { id: `${name}${at}`, name } }))

/** A tool that writes down who asked. */
const whoTool = (name: string, seen: unknown[], rest: object = {}) =>
  tool({
    name,
    description: name,
    execute: (_, { context }: ToolContext<Deps>) => {
      seen.push(context)
      return `for ${context?.user}`
    },
    ...rest,
  })

const toolNames = (model: ScriptedModel, request: number) =>
  model.requests[request]?.tools?.map(({ name }) => name)
const systemOf = (model: ScriptedModel, request: number) => {
  const [first] = model.requests[request]?.messages ?? []
  return first?.role === 'system' ? textOf(first) : undefined
}

describe('the context', () => {
  test('reaches execute, needsApproval and prepareStep, before and after a restore, and is never stored', async () => {
    const seen: unknown[] = []
    const rules: unknown[] = []
    const steps: unknown[] = []
    const needsApproval = (_: unknown, { context }: { context: Deps }) => {
      rules.push(context)
      return true
    }
    const agentFor = (turns: ScriptTurn[]) =>
      new Agent<Deps>(scriptedModel(turns), {
        tools: [whoTool('act', seen, { needsApproval })],
        prepareStep: ({ context }) => {
          steps.push(context)
          return {}
        },
      })
    const pending = waitOf(await agentFor([calls('act')]).send('Go', { context: deps }))
    expect(JSON.stringify(pending)).not.toMatch(/secret|lovelace/)
    const grace: Deps = { user: 'grace', token: 'other' }
    const { messages } = await agentFor(['done']).resume(pending, { act0: true }, { context: grace })
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'for grace' }])
    expect([rules, seen, steps]).toEqual([[deps], [grace], [deps, grace]])
  })

  test.each<[string, AgentOptions<Deps>, ScriptTurn[]]>([
    ['reasoning', { orchestrator: reasoningOrchestrator() }, ['A.', 'H.', calls('act'), 'E.', 'S.']],
    [
      'reflection',
      { orchestrator: reflectionOrchestrator() },
      [calls('act'), 'D.', 'APPROVED', 'R.', 'APPROVED', 'R.'],
    ],
  ])('reaches the tools of %s', async (_, options, turns) => {
    const seen: unknown[] = []
    const agent = new Agent<Deps>(scriptedModel(turns), { tools: [whoTool('act', seen)], ...options })
    await settled(agent.send('Go', { context: deps }))
    expect(seen).toEqual([deps])
  })

  test('reaches the tools of a typed answer, and of an agent that is a tool', async () => {
    const seen: unknown[] = []
    const inner = new Agent<Deps>(scriptedModel([calls('act'), 'inner done']), {
      tools: [whoTool('act', seen)],
    })
    const outer = new Agent<Deps>(
      scriptedModel([[{ toolCall: { name: 'expert', arguments: { prompt: 'p' } } }], '{"n":1}']),
      {
        tools: [inner.asTool({ name: 'expert', description: 'expert' })],
      },
    )
    expect((await settled(outer.sendFor('Go', schema, { context: deps }))).output).toEqual({ n: 1 })
    expect(seen).toEqual([deps])
  })

  test('of two runs at the same time is not mixed up', async () => {
    const seen: unknown[] = []
    const agent = new Agent<Deps>(scriptedModel([calls('act'), calls('act'), 'one', 'two']), {
      tools: [whoTool('act', seen)],
    })
    const users = ['ada', 'grace'].map((user) => ({ user, token: '' }))
    await settled(Promise.all(users.map((context) => agent.send('Go', { context }))))
    expect(seen).toEqual(users)
  })
})

describe('options of one send', () => {
  test('are in place of the agent’s, for this send alone', async () => {
    const seen: unknown[] = []
    const model = scriptedModel([calls('mine', 'own'), 'one', 'two'])
    const agent = new Agent<Deps>(model, {
      tools: [whoTool('own', seen)],
      system: 'The agent’s.',
      temperature: 0.1,
      seed: 7,
    })
    const { messages } = await settled(
      agent.send('Go', {
        context: deps,
        tools: [whoTool('mine', seen)],
        system: 'Mine.',
        temperature: 0.9,
        toolChoice: 'required',
      }),
    )
    await settled(agent.send('Again', { context: undefined }))
    expect(
      model.requests.map(({ temperature, toolChoice, seed }) => [temperature, toolChoice, seed]),
    ).toEqual([
      [0.9, 'required', 7],
      [0.9, 'required', 7],
      [0.1, undefined, 7],
    ])
    expect([0, 1, 2].map((at) => [systemOf(model, at), toolNames(model, at)])).toEqual([
      ['Mine.', ['mine']],
      ['Mine.', ['mine']],
      ['The agent’s.', ['own']],
    ])
    // The model called the agent's own tool, which this send does not have.
    expect(messages.flatMap(toolResultsOf).map(({ isError = false }) => isError)).toEqual([false, true])
    expect(seen).toEqual([deps])
  })

  test('that are JSON survive a restore; the tools are given again', async () => {
    const make = (turns: ScriptTurn[]) => {
      const model = scriptedModel(turns)
      return { model, agent: new Agent<Deps>(model, { system: 'The agent’s.', maxSteps: 9 }) }
    }
    const seen: unknown[] = []
    const tools = [whoTool('act', seen, { needsApproval: true })]
    const first = make([calls('act')])
    const pending = waitOf(
      await first.agent.send('Go', { tools, system: 'Mine.', temperature: 0.9, maxSteps: 2 }),
    )
    const { agent, model } = make([calls('act'), 'never'])
    const again = await settled(
      agent.resume(pending, { act0: { approve: true, remember: 'tool' } }, { tools }),
    )
    expect(again.finishReason).toBe('maxSteps')
    expect(seen).toHaveLength(2)
    expect(model.requests).toHaveLength(1)
    expect([systemOf(model, 0), toolNames(model, 0), model.requests[0]?.temperature]).toEqual([
      'Mine.',
      ['act'],
      0.9,
    ])
  })

  test.each<[string, Partial<ScriptedModel['profile']>, ScriptTurn[], string[]]>([
    ['native', {}, [calls('act'), '{"n":1}'], ['act']],
    [
      'by tool',
      { nativeSchema: false },
      [calls('act'), [{ toolCall: { name: 'return_result', arguments: { n: 1 } } }]],
      ['act', 'return_result'],
    ],
    ['in two phases', { schemaWithTools: false }, [calls('act'), 'So.', '{"n":1}'], ['act']],
  ])('work for a typed answer, %s', async (_, profile, turns, offered) => {
    const seen: unknown[] = []
    const model = scriptedModel(turns, { profile })
    const options = { tools: [whoTool('act', seen)], system: 'Mine.', temperature: 0.9 }
    const result = await settled(
      new Agent<Deps>(model, { system: 'The agent’s.' }).sendFor('Go', schema, options),
    )
    expect(result.output).toEqual({ n: 1 })
    expect(seen).toHaveLength(1)
    expect(toolNames(model, 0)).toEqual(offered)
    for (const [at, { temperature }] of model.requests.entries())
      expect([systemOf(model, at), temperature]).toEqual(['Mine.', 0.9])
  })

  test('work in an orchestrator, in the phase that has tools', async () => {
    const seen: unknown[] = []
    const model = scriptedModel(['A.', 'H.', calls('act'), 'E.', 'S.'])
    const agent = new Agent<Deps>(model, { orchestrator: reasoningOrchestrator(), system: 'The agent’s.' })
    await settled(agent.send('Go', { tools: [whoTool('act', seen)], system: 'Mine.', temperature: 0.9 }))
    expect(seen).toHaveLength(1)
    // Every phase has the same list, so that each request begins with the one before; only one phase may call.
    expect(model.requests.map((_, at) => toolNames(model, at))).toEqual(Array(5).fill(['act']))
    const choices = model.requests.map(({ toolChoice }) => toolChoice)
    expect(choices).toEqual(['none', 'none', undefined, undefined, 'none'])
    expect(model.requests.every((_, at) => systemOf(model, at) === 'Mine.')).toBe(true)
  })

  test('are not inherited by an agent that is a tool', async () => {
    const innerModel = scriptedModel([calls('mine'), 'inner done'])
    const inner = new Agent<Deps>(innerModel, { system: 'Inner.' })
    const outerModel = scriptedModel([[{ toolCall: { name: 'expert', arguments: { prompt: 'p' } } }], 'done'])
    const seen: unknown[] = []
    const tools = [whoTool('mine', seen), inner.asTool({ name: 'expert', description: 'expert' })]
    const { output } = await settled(
      new Agent<Deps>(outerModel).send('Go', { tools, system: 'Mine.', temperature: 0.9 }),
    )
    expect(output).toBe('done')
    expect(seen).toEqual([])
    expect([toolNames(innerModel, 0), systemOf(innerModel, 0), innerModel.requests[0]?.temperature]).toEqual([
      undefined,
      'Inner.',
      undefined,
    ])
  })
})

describe('prepareStep', () => {
  test('that offers fewer tools: what was not offered does not run, approved or not', async () => {
    const seen: unknown[] = []
    const tools = [whoTool('act', seen), whoTool('danger', seen, { needsApproval: true })]
    const model = scriptedModel([calls('danger', 'act'), 'done'])
    const agent = new Agent<Deps>(model, {
      tools,
      prepareStep: ({ step }) => (step === 1 ? { tools: ['act'] } : {}),
    })
    const { messages, pendingApproval } = await settled(agent.send('Go'))
    expect(pendingApproval).toBeUndefined()
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { name: 'danger', isError: true },
      { result: 'for undefined' },
    ])
    expect(seen).toHaveLength(1)
    expect([0, 1].map((at) => toolNames(model, at))).toEqual([['act'], ['act', 'danger']])
  })

  test('of a send is in place of the agent’s, and changes one step', async () => {
    const other = scriptedModel(['from the other'], { model: 'other' })
    const model = scriptedModel([calls('act')])
    const agent = new Agent<Deps>(model, {
      tools: [whoTool('act', [])],
      prepareStep: () => ({ system: 'The agent’s.' }),
    })
    const asked: number[] = []
    const result = await settled(
      agent.send('Go', {
        prepareStep: ({ step, messages, usage }) => {
          asked.push(messages.length)
          messages.length = 0
          return step === 1
            ? { system: 'Mine.', toolChoice: { tool: 'act' } }
            : { model: other, settings: { seed: 7 }, ...(usage && {}) }
        },
      }),
    )
    expect(result.output).toBe('from the other')
    expect(asked).toEqual([1, 3])
    expect([systemOf(model, 0), model.requests[0]?.toolChoice]).toEqual(['Mine.', { tool: 'act' }])
    expect([systemOf(other, 0), other.requests[0]?.seed, other.requests[0]?.messages.length]).toEqual([
      undefined,
      7,
      3,
    ])
  })
})
