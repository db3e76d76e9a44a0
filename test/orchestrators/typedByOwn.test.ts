import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, reasoningOrchestrator } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// An explicit orchestrator answers for a schema, too: it gets the schema with its input.

test('reasoning ends in a typed answer when one is asked for', async () => {
  const model = scriptedModel(['analysis', 'hypothesis', 'evidence', '{"answer":42}'])
  const agent = new Agent(model, { orchestrator: reasoningOrchestrator() })
  const { output, messages } = await agent.sendFor('Why?', z.object({ answer: z.number() }))
  expect(output).toEqual({ answer: 42 })
  expect(messages).toHaveLength(8)
  expect(model.requests.map(({ outputSchema }) => outputSchema !== undefined)).toEqual([
    false,
    false,
    false,
    true,
  ])
})

test('an answer of it that does not fit is an OutputValidationError', async () => {
  const model = scriptedModel(['analysis', 'hypothesis', 'evidence', 'forty-two'])
  const agent = new Agent(model, { orchestrator: reasoningOrchestrator() })
  await expect(agent.sendFor('Why?', z.object({ answer: z.number() }))).rejects.toMatchObject({
    name: 'OutputValidationError',
    rawOutput: expect.stringContaining('forty-two'),
  })
})
