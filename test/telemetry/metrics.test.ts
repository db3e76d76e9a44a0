/** Durations and tokens, with few attributes: nothing that differs from run to run. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { type Measurement, observe } from './observed.ts'

const work = tool({ name: 'work', description: 'Works', execute: () => 'done' })
const used = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })
const turns: ScriptTurn[] = [
  [{ toolCall: { name: 'work' } }, { toolCall: { name: 'invented' } }, used(10, 1)],
  [{ text: 'Hello' }, used(20, 2)],
]

const lineOf = ({ name, attributes, count }: Measurement): string =>
  `${name} ${count} ${Object.values(attributes).join(' ')}`

test('are measured for runs, requests and calls', async () => {
  const observed = observe()
  const model = scriptedModel(turns, { provider: 'mistral', model: 'small' })
  await new Agent(model, { name: 'worker', tools: [work], inspect: telemetry() }).send('Go')
  const measured = await observed.measured()
  expect(measured.map(lineOf).toSorted()).toEqual([
    'gen_ai.client.operation.duration 1 execute_tool mistral_ai tool_error',
    'gen_ai.client.operation.duration 1 execute_tool mistral_ai work',
    'gen_ai.client.operation.duration 1 invoke_agent worker mistral_ai',
    'gen_ai.client.operation.duration 2 chat mistral_ai small',
    'gen_ai.client.operation.time_to_first_chunk 1 chat mistral_ai small',
    'gen_ai.client.token.usage 2 chat mistral_ai small input',
    'gen_ai.client.token.usage 2 chat mistral_ai small output',
  ])
  const tokens = measured.filter(({ name }) => name === 'gen_ai.client.token.usage')
  expect(tokens.map(({ sum }) => sum)).toEqual([30, 3])
})

test('distinguish failures', async () => {
  const observed = observe()
  const model = scriptedModel([[{ error: { status: 401 } }]])
  await expect(new Agent(model, { inspect: telemetry() }).send('Go')).rejects.toThrow()
  expect((await observed.measured()).map(lineOf).toSorted()).toEqual([
    'gen_ai.client.operation.duration 1 chat scripted script 401',
    'gen_ai.client.operation.duration 1 invoke_agent scripted 401',
  ])
})

test('do not have the attributes that the program gives each run', async () => {
  const observed = observe()
  const inspect = telemetry({ attributes: { 'session.id': 'one of many' } })
  await new Agent(scriptedModel(['Hello']), { inspect }).send('Go')
  expect(JSON.stringify(await observed.measured())).not.toContain('one of many')
})

test('are left out where the options say so', async () => {
  const observed = observe()
  await new Agent(scriptedModel(turns), { tools: [work], inspect: telemetry({ metrics: false }) }).send('Go')
  expect(observed.tree()).toContain('execute_tool work')
  expect(await observed.measured()).toEqual([])
})
