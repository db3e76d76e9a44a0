/** Turns of thousands of calls that need approvals take time that grows with them. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const erase = tool({
  name: 'erase',
  description: 'Erases',
  input: { jsonSchema: { type: 'object' } },
  needsApproval: true,
  execute: () => 'erased',
})

const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const agentOf = (count: number, options: { onApproval?: () => boolean } = {}) => {
  const calls: ScriptTurn = Array.from({ length: count }, (_, n) => ({
    toolCall: { id: `c${n}`, name: 'erase', arguments: { n } },
  }))
  return new Agent(scriptedModel([calls, 'Done.']), { tools: [erase], ...options })
}

test.each<[string, (count: number) => Promise<unknown>]>([
  [
    'one after the other',
    async (count) => {
      const run = agentOf(count).start('Go')
      await run.result
      for (const { id, question = '' } of run.pending) run.approve(id, { question })
      expect((await run.result).answer).toBe('Done.')
    },
  ],
  ['by onApproval', (count) => agentOf(count, { onApproval: () => true }).send('Go')],
])('approvals of many calls: %s', async (_, work) => {
  await cpuMs(() => work(100))
  const one = await cpuMs(() => work(300))
  const four = await cpuMs(() => work(1200))
  // Quadratic work takes sixteen times as long.
  expect(four, `${one} ms, ${four} ms`).toBeLessThan(10 * one + 200)
})
