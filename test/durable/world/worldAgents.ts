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
import { phases } from './script.ts'

/** The place of the agents' model, and that of their tools' effects. */
export type WorldPlace = { modelUrl: string; folder: string }

/** The context that each run is started with. */
export const contextOf = (id: string) => ({ run: id })

const runOf = (context: unknown): string => String(isJsonObject(context) ? context.run : undefined)

/** Does something that can be counted from outside, and takes a moment for it. */
const effective = (
  name: ToolName,
  effects: string,
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
      await pause(Number.parseInt(nonce.slice(0, 1), 16))
      moment('effect')
      leaveEffect(effects, { what: 'end', ...effect })
      moment('effect')
      return `done ${callId} ${nonce}`
    },
    ...more,
  })

/** The agents of the world: every orchestrator, both ways to run tools, retries, a model that never works. */
export const worldAgents = ({ modelUrl, folder }: WorldPlace): Record<AgentName, Agent> => {
  const effects = effectsFile(folder)
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
  const agentOf = (options: AgentOptions<unknown, AnyActorLogic> = {}, model = 'openai:steady'): Agent =>
    new Agent<unknown, AnyActorLogic>(model, {
      ...connection,
      retry: { maxRetries: 3, initialDelayMs: 5, maxDelayMs: 20, midStream: true },
      tools: [...inner, helper],
      ...options,
    })
  const helper = new Agent('openai:steady', {
    ...connection,
    retry: { maxRetries: 3, initialDelayMs: 5, midStream: true },
    tools: inner,
  }).asTool({ name: 'delegate', description: 'Does a part of it' })
  return {
    sequential: agentOf(),
    parallel: agentOf({ toolExecution: 'parallel' }),
    reasoning: agentOf({ orchestrator: reasoningOrchestrator({ prompts: phases }) }),
    reflection: agentOf({ orchestrator: reflectionOrchestrator({ prompts: phases }) }),
    fallback: agentOf(
      {
        retry: { maxRetries: 1, initialDelayMs: 5, midStream: true },
        fallback: [{ ...connection, model: 'openai:steady' }],
      },
      'openai:broken',
    ),
  }
}
