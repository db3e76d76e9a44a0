import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from '../../src/agent/Agent.ts'
import { isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { tool } from '../../src/tools/tool.ts'
import { answering, calls } from '../engine/taskWorld.ts'

/** The number of tasks, and of those that work at the same time. */
export const count = 50
export const most = 8

/** A lead whose workers look twice each. `seen` counts the calls of all of them that ran at the same time in this process. */
export const fanOutLead = (): { agent: Agent; seen: () => number } => {
  let atWork = 0
  let seen = 0
  const look = tool({
    name: 'look',
    description: 'Looks',
    onInterrupted: 'rerun',
    execute: async () => {
      atWork += 1
      seen = Math.max(seen, atWork)
      await pause(5)
      atWork -= 1
      return 'seen'
    },
  })
  const worker = new Agent(
    answering(({ messages: [first, ...rest] }) => {
      const looks = rest.flatMap(toolResultsOf).length
      const usage = { usage: { inputTokens: 2, outputTokens: 1 } }
      if (looks === 2) return [{ text: `Did ${first ? textOf(first) : ''}` }, usage]
      return [{ toolCall: { id: `look-${looks}`, name: 'look', arguments: {} } }, usage]
    }),
    { tools: [look] },
  )
  const work = worker.asTool({ name: 'work', description: 'Works', background: true, maxTasks: most })
  const prompts = Array.from({ length: count }, (_, index) => `t${index}`)
  const agent = new Agent(
    answering(({ messages }) =>
      messages.length === 1
        ? calls('work', ...prompts)
        : `${messages.filter(isTaskResult).length} of ${count}`,
    ),
    { tools: [work], maxSteps: 2 * count },
  )
  return { agent, seen: () => seen }
}
