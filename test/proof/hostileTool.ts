import { expect } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type ToolResultPart, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, type ToolContext, tool } from '../../src/tools/tool.ts'
import { recorder } from '../engine/sampleTools.ts'

/** A call of the hostile tool, and one of a good one. */
export const calls: ScriptTurn = [
  { toolCall: { id: 'bad', name: 'bad', arguments: { list: [{ n: 1 }] } } },
  { toolCall: { id: 'good', name: 'echo', arguments: { fine: true } } },
]

export const anyInput = { jsonSchema: { type: 'object' } } as const
export const bad = (execute: (args: Record<string, unknown>, context: ToolContext) => unknown): Tool =>
  tool({ name: 'bad', description: 'Hostile', input: anyInput, timeoutMs: 10_000, execute })

/** The result of a hostile tool that a good one follows. */
export const resultOf = async (hostile: Tool): Promise<ToolResultPart> => {
  const model = scriptedModel([calls, 'went on'])
  const agent = new Agent(model, { tools: [hostile, recorder().tool] })
  const { messages, output } = await agent.send('Go')
  expect(output).toBe('went on')
  expect(validateHistory(messages)).toEqual([])
  expect(JSON.parse(JSON.stringify(messages))).toEqual(messages)
  // What the model said stays what it said.
  expect(messages[1]?.parts).toMatchObject([
    { arguments: { list: [{ n: 1 }] } },
    { arguments: { fine: true } },
  ])
  const [first, second] = messages.flatMap(toolResultsOf)
  expect(second?.result).toBe('{"fine":true}')
  if (!first) throw new Error('The call has no result.')
  return first
}

export const problemOf = ({ isError, result }: ToolResultPart): string => {
  expect(isError).toBe(true)
  return JSON.parse(result).error
}

export const raise = (thrown: unknown) => () => {
  throw thrown
}

export const trap = (): never => {
  throw new Error('trapped')
}
export const traps: ProxyHandler<object> = {
  get: trap,
  has: trap,
  getPrototypeOf: trap,
  ownKeys: trap,
  apply: trap,
}
export const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
export const withMessage = (descriptor: PropertyDescriptor): Error =>
  Object.defineProperty(new Error('x'), 'message', descriptor)

/** An object that can be awaited, by whatever its `then` is. */
export const thenable = (then: PropertyDescriptor) => Object.defineProperty(Object.create(null), 'then', then)
