/** A phase that compacts its conversation and then fails leaves one that can be continued. */
import { expect, test } from 'vitest'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptedModel, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { overflow, talk } from '../engine/compactedRuns.ts'

const down: ScriptTurn = [{ error: { message: 'down', retryable: false } }]

const options = { retry: { maxRetries: 0 }, compaction: {} }

const agents = {
  reflection: (model: ScriptedModel) =>
    new Agent(model, { ...options, orchestrator: reflectionOrchestrator() }),
  reasoning: (model: ScriptedModel) =>
    new Agent(model, { ...options, orchestrator: reasoningOrchestrator() }),
}

/** The phases before the one that fails: each is answered, or compacted first. */
const before: ScriptTurn[][] = [
  [],
  ['A draft.'],
  [overflow(), 'A summary.', 'A draft.'],
  ['A draft.', 'Could be better.'],
]

test.each(
  Object.keys(agents).flatMap((name) =>
    before.map((turns, index) => [name as keyof typeof agents, index, turns] as const),
  ),
)('%s, %i', async (name, _, turns) => {
  const agent = agents[name](scriptedModel([...turns, overflow(), 'A summary.', down]))
  let compactions = 0
  const run = agent.start('Go on.', { history: talk })
  run.on('compaction', () => {
    compactions += 1
  })
  const error = await run.result.catch((thrown: unknown) => thrown)
  if (!(error instanceof ModelError)) throw new Error('The run did not fail.')
  expect(error.message).toBe('down')
  expect(compactions).toBeGreaterThan(0)
  const messages = [...talk, ...(error.partial?.messages ?? [])]
  expect(validateHistory(messages)).toEqual([])
})
