import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { AnyActorLogic } from 'xstate'
import {
  Agent,
  type AgentOptions,
  reasoningOrchestrator,
  reflectionOrchestrator,
  type Tool,
  tool,
} from '../../../src/index.ts'
import { isJsonObject } from '../../../src/messages/json.ts'
import type { OnInterrupted } from '../../../src/tools/tool.ts'
import { effectsFile, leaveEffect } from './effects.ts'
import { moment } from './moments.ts'
import type { AgentName, ToolName } from './plan.ts'
import { reasoning, reflection } from './script.ts'

/** The place of the agents' model, that of their tools' effects, and what differs from one deploy to the next. */
export type WorldPlace = { modelUrl: string; folder: string; variant?: number; toolMs?: number }

/** The context that each run is started with. */
export const contextOf = (id: string) => ({ run: id })

const runOf = (context: unknown): string => String(isJsonObject(context) ? context.run : undefined)

/** Does something that can be counted from outside, and takes a moment for it. */
const effective = (
  name: ToolName,
  { effects, toolMs }: { effects: string; toolMs: number },
  more: { needsApproval?: boolean; onInterrupted?: OnInterrupted } = {},
): Tool =>
  tool({
    name,
    description: `Does ${name}`,
    execute: async (_, { callId, context, attempt, idempotencyKey: key }) => {
      const nonce = randomUUID().slice(0, 8)
      const effect = { tool: name, run: runOf(context), callId, attempt, key, nonce }
      moment('effect')
      leaveEffect(effects, { what: 'begin', ...effect })
      moment('begun')
      await pause((Number.parseInt(nonce.slice(0, 2), 16) / 255) * toolMs)
      moment('effect')
      leaveEffect(effects, { what: 'end', ...effect })
      moment('effect')
      return `done ${callId} ${nonce}`
    },
    ...more,
  })

/** The agents of the world: every orchestrator, both ways to run tools, retries, a model that never works. */
export const worldAgents = (place: WorldPlace): Record<AgentName, Agent> => {
  const { modelUrl, folder, variant = 0, toolMs = 15 } = place
  const effects = { effects: effectsFile(folder), toolMs }
  const connection = {
    baseUrl: modelUrl,
    apiKey: 'none',
    connection: {
      fetch: (async (...args) => {
        moment('request')
        const response = await fetch(...args)
        moment('request')
        return response
      }) satisfies typeof fetch,
    },
  }
  const inner = [
    effective('note', effects),
    effective('again', effects, { onInterrupted: 'rerun' }),
    effective('settle', effects, { onInterrupted: 'ask' }),
    effective('check', effects, { needsApproval: true }),
  ]
  const added =
    variant === 0 ? [] : [tool({ name: `added${variant}`, description: 'Is new', execute: () => '' })]
  const steady = `openai:steady-${variant}`
  const agentOf = (options: AgentOptions<unknown, AnyActorLogic> = {}, model = steady): Agent =>
    new Agent<unknown, AnyActorLogic>(model, {
      ...connection,
      retry: { maxRetries: 3, initialDelayMs: 5, maxDelayMs: 20, midStream: true },
      system: `You are release ${variant}.`,
      tools: [...added, ...inner, helper],
      ...options,
    })
  const helper = new Agent(steady, {
    ...connection,
    retry: { maxRetries: 3, initialDelayMs: 5, midStream: true },
    tools: inner,
  }).asTool({ name: 'delegate', description: 'Does a part of it' })
  return {
    sequential: agentOf(),
    parallel: agentOf({ toolExecution: variant === 2 ? { concurrency: 2 } : 'parallel' }),
    reasoning: agentOf({ orchestrator: reasoningOrchestrator({ prompts: reasoning }) }),
    reflection: agentOf({ orchestrator: reflectionOrchestrator({ prompts: reflection }) }),
    fallback: agentOf(
      {
        retry: { maxRetries: 1, initialDelayMs: 5, midStream: true },
        fallback: [{ ...connection, model: steady }],
      },
      'openai:broken',
    ),
  }
}
