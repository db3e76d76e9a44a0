/** A `prepareStep` that names tools leaves typed answers and orchestrators as they are. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const search = tool({ name: 'search', description: 'Searches', execute: () => 'found' })
const erase = tool({ name: 'erase', description: 'Erases', execute: () => 'gone' })
const options = { tools: [search, erase], prepareStep: () => ({ tools: ['search'] }) }

test('a typed answer has its tool, whatever is offered beside it', async () => {
  const script = [[{ toolCall: { name: 'return_result', arguments: { city: 'Oslo' } } }]]
  const model = scriptedModel(script, { profile: { nativeSchema: false } })
  const { output } = await new Agent(model, options).sendFor('Where?', z.object({ city: z.string() }))
  expect(output).toEqual({ city: 'Oslo' })
  expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['search', 'return_result'])
})

const orchestrators = {
  reasoning: { ...options, orchestrator: reasoningOrchestrator() },
  reflection: { ...options, orchestrator: reflectionOrchestrator() },
}

test('phases that call no tools offer the same ones, and forbid to call them', async () => {
  const runs = [
    (model: ChatModel) => new Agent(model, orchestrators.reasoning).send('Why?'),
    (model: ChatModel) => new Agent(model, orchestrators.reflection).send('Why?'),
  ]
  for (const run of runs) {
    const model = scriptedModel(Array.from({ length: 12 }, () => 'APPROVED'))
    expect((await run(model)).answer).toBe('APPROVED')
    const offered = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name).join())
    expect([...new Set(offered)]).toEqual(['search'])
    expect(new Set(model.requests.map(({ toolChoice }) => toolChoice))).toEqual(new Set(['none', undefined]))
  }
})

test('a name that the agent does not have is still refused', async () => {
  const agent = new Agent(scriptedModel(['x']), { ...options, prepareStep: () => ({ tools: ['serach'] }) })
  await expect(agent.send('Why?')).rejects.toThrow('prepareStep offers the tool "serach"')
})
