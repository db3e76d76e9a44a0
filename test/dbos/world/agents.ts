import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { Agent, reasoningOrchestrator, reflectionOrchestrator, sleepTool, tool } from '../../../src/index.ts'

/** The agents of the tests. Each call of a tool leaves a line in a file when it begins, and one when it has ended. */
export const plannedAgents = (modelUrl: string, log: string) => {
  const noting = (name: string, options: { needsApproval?: boolean; onInterrupted?: 'rerun' | 'ask' } = {}) =>
    tool({
      name,
      description: `Notes something (${name})`,
      input: z.object({ what: z.string(), ms: z.number().optional(), until: z.string().optional() }),
      ...options,
      execute: async ({ what, ms = 0, until }, { idempotencyKey, attempt }) => {
        const note = (moment: string) =>
          appendFileSync(log, `${JSON.stringify({ moment, name, what, key: idempotencyKey, attempt })}\n`)
        note('begin')
        await sleep(ms)
        // A file that the test writes.
        while (until !== undefined && !existsSync(until)) await sleep(20)
        note('end')
        return `noted ${what}`
      },
    })
  const die = tool({
    name: 'die',
    description: 'Ends the process',
    onInterrupted: 'rerun',
    execute: () => process.kill(process.pid, 'SIGKILL'),
  })
  const tools = [
    die,
    noting('note'),
    noting('again', { onInterrupted: 'rerun' }),
    noting('doubt', { onInterrupted: 'ask' }),
    noting('wipe', { needsApproval: true }),
    sleepTool(),
  ]
  const connection = { apiKey: 'none', baseUrl: modelUrl, retry: { maxRetries: 5, initialDelayMs: 20 } }
  const helper = new Agent('openai:planned', { ...connection, tools, name: 'helper' })
  const ask = helper.asTool({ name: 'ask_helper', description: 'Asks the helper' })
  return {
    one: new Agent('openai:planned', { ...connection, tools }),
    limited: new Agent('openai:planned', { ...connection, tools, limits: { steps: 1 }, atLimit: 'ask' }),
    side: new Agent('openai:planned', { ...connection, tools: [...tools, ask], toolExecution: 'parallel' }),
    pair: new Agent('openai:planned', { ...connection, tools, toolExecution: { concurrency: 2 } }),
    outer: new Agent('openai:planned', { ...connection, tools: [...tools, ask] }),
    thinker: new Agent('openai:planned', { ...connection, tools, orchestrator: reasoningOrchestrator() }),
    critic: new Agent('openai:planned', { ...connection, tools, orchestrator: reflectionOrchestrator() }),
  }
}

export type Noted = { moment: 'begin' | 'end'; name: string; what: string; key: string; attempt: number }
