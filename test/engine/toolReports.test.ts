/** Long results for the model, and long calls for listeners. */
import { describe, expect, test } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { Schema } from '../../src/tools/schema.ts'
import { type ToolContext, type ToolOptions, tool } from '../../src/tools/tool.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'

const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'work' } }]

const working = (
  execute: (args: unknown, context: ToolContext) => unknown,
  own: Partial<ToolOptions<Schema>> = {},
  options: AgentOptions = {},
) =>
  new Agent(scriptedModel([call, 'done', 'good', 'better']), {
    tools: [tool({ name: 'work', description: 'Works', ...own, execute })],
    ...options,
  })

const resultOf = async (agent: Agent): Promise<string> => {
  const { messages } = await agent.send('Go')
  return messages.flatMap(toolResultsOf)[0]?.result ?? ''
}

describe('a result', () => {
  test('of the length that is allowed is given whole', async () => {
    const text = 'x'.repeat(65_536)
    expect(await resultOf(working(() => text))).toBe(text)
  })

  test('that is longer is given by its beginning and its end, and the model learns what is missing', async () => {
    const text = `${'a'.repeat(60_000)}${'b'.repeat(60_000)}`
    const result = await resultOf(working(() => text))
    expect(result).toMatch(/^a{43691}\n\[… 54464 of 120000 characters are left out here: .*\]\nb{21845}$/)
  })

  test('has the limit that its tool sets', async () => {
    expect(
      await resultOf(working(() => 'x'.repeat(200_000), { maxResult: Number.POSITIVE_INFINITY })),
    ).toHaveLength(200_000)
    expect(await resultOf(working(() => '0123456789', { maxResult: 3 }))).toMatch(/^01\n\[… 7 of 10 .*\]\n9$/)
  })

  test('is never cut inside of a character', async () => {
    const result = await resultOf(working(() => '😀'.repeat(100), { maxResult: 9 }))
    expect(JSON.stringify(result)).not.toMatch(/\\ud/)
  })

  test('of fifty megabytes costs what is kept of it', async () => {
    expect((await resultOf(working(() => ({ a: 'x'.repeat(50_000_000) })))).length).toBeLessThan(66_000)
  })
})

const reports = async (agent: Agent): Promise<unknown[]> => {
  const seen: unknown[] = []
  const run = agent.start('Go')
  run.on('tool.progress', (event) => seen.push(event))
  await run.result
  return seen
}

const twice = (_: unknown, { report }: ToolContext) => {
  report({ done: 1 })
  report('half')
  return 'ok'
}

describe('what a tool reports', () => {
  const seen = [
    { type: 'tool.progress', callId: 'a', value: { done: 1 } },
    { type: 'tool.progress', callId: 'a', value: 'half' },
  ]
  const { executeSingle } = createToolExecutor()

  test.each<[string, AgentOptions]>([
    ['in a plain run', {}],
    ['below an orchestrator', { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) }],
    [
      'in a batch of the user',
      {
        toolExecutor: {
          executeBatch: (calls, ...rest) => Promise.all(calls.map((each) => executeSingle(each, ...rest))),
        },
      },
    ],
  ])('reaches listeners: %s', async (_, options) => {
    expect(await reports(working(twice, {}, options))).toEqual(seen)
  })

  test('is JSON for them, whatever it was', async () => {
    const values = await reports(
      working((_, { report }) => {
        for (const value of [undefined, 10n, () => 1]) report(value)
      }),
    )
    expect(values).toMatchObject([
      { value: null },
      { value: expect.any(String) },
      { value: expect.any(String) },
    ])
  })

  test('after its call is over is not emitted while the next one runs', async () => {
    const given: ((value: unknown) => void)[] = []
    const work = tool({
      name: 'work',
      description: 'Works',
      execute: (_, { callId, report }) => {
        given.push(report)
        for (const each of given) each(callId)
      },
    })
    const two: ScriptTurn = ['a', 'b'].map((id) => ({ toolCall: { id, name: 'work' } }))
    expect(await reports(new Agent(scriptedModel([two, 'done']), { tools: [work] }))).toEqual([
      { type: 'tool.progress', callId: 'a', value: 'a' },
      { type: 'tool.progress', callId: 'b', value: 'b' },
    ])
  })

  test('after its call is over is not emitted', async () => {
    let late = (_: unknown): void => {}
    const agent = working((_, { report }) => {
      late = report
      return 'ok'
    })
    const run = agent.start('Go')
    const values: unknown[] = []
    run.on('tool.progress', (event) => values.push(event))
    await run.result
    late('too late')
    expect(values).toEqual([])
  })
})
