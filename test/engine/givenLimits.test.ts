/** Which limits a run can be given, and which of them count. */
import { describe, expect, test } from 'vitest'
import { createActor, waitFor } from 'xstate'
import { Agent, type RunLimits, tool, toolCallsOf } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'

const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
const other = { ...look, name: 'other' }
const endless = Array.from(
  { length: 40 },
  (_, index): ScriptTurn => [{ toolCall: { id: `c${index}`, name: 'look' } }],
)

describe('limits that a machine is given', () => {
  const outputWith = async (limits: unknown) => {
    const agent = new Agent(scriptedModel([endless[0] ?? '', 'Done.']), { tools: [look, other] })
    const actor = createActor(agent.machine, { input: { prompt: 'Go.', limits: limits as RunLimits } })
    actor.start()
    return (await waitFor(actor, ({ status }) => status === 'done')).output
  }

  test.each<[unknown]>([
    [{}],
    [{ steps: 2, tokens: 10, cost: 0.5, toolCalls: 2, repeats: 2 }],
    [{ perTool: {} }],
    [{ perTool: { look: 1, other: 0 } }],
  ])('may be %o', async (limits) => {
    expect(await outputWith(limits)).toMatchObject({ status: 'complete', answer: 'Done.' })
  })

  test('may be nothing at all', async () => {
    expect(await outputWith({ toolCalls: 0 })).toMatchObject({ status: 'complete', finishReason: 'limit' })
  })

  test.each<[unknown]>([
    [5],
    [[]],
    [{ steps: '5' }],
    [{ cost: -1 }],
    [{ tokens: Number.NaN }],
    [{ toolCalls: null }],
    [{ days: 5 }],
    [{ perTool: 5 }],
    [{ perTool: [1] }],
    [{ perTool: { look: 1, other: -1 } }],
    [{ perTool: { look: '1' } }],
  ])('must not be %o', async (limits) => {
    expect(await outputWith(limits)).toMatchObject({
      status: 'failed',
      error: { name: 'ConfigurationError', message: expect.stringMatching(/limits that are not amounts/) },
    })
  })
})

test('a limit that is left open is the usual one', async () => {
  const limits = { steps: undefined } as unknown as RunLimits
  const agent = new Agent(scriptedModel(endless), { tools: [look], limits })
  const { messages, finishReason } = await agent.send('Go.')
  expect(finishReason).toBe('maxSteps')
  expect(messages.flatMap(toolCallsOf)).toHaveLength(25)
})

test('an agent has limits of its runs and of its connection, which are never stored', async () => {
  const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
  const agent = (turns: ScriptTurn[]) =>
    new Agent(scriptedModel(turns), {
      tools: [ask],
      limits: { perTool: { ask: 1 } },
      connection: { limits: { maxEventSize: 9000 } },
    })
  const { pendingApproval } = await agent([[{ toolCall: { id: 'a', name: 'ask' } }]]).send('Go.')
  const stored = JSON.stringify(pendingApproval)
  expect(stored).not.toContain('maxEventSize')
  const pending = JSON.parse(stored)
  expect(await agent(['Done.']).resume(pending, { a: true })).toMatchObject({ answer: 'Done.' })
})
