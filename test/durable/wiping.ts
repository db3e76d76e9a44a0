import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import {
  type ScriptedModel,
  type ScriptOptions,
  type ScriptTurn,
  scriptedModel,
} from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

/** An agent that wipes files: those whose name begins with `b` after an approval. `wiped` says which. */
export type Wiping = { agent: Agent; model: ScriptedModel; wiped: string[] }

export const callOf = (id: string, file: string) => ({
  toolCall: { id, name: 'wipe', arguments: { file } },
})

export const wiping = (
  turns: readonly ScriptTurn[],
  options: AgentOptions = {},
  script: ScriptOptions = {},
): Wiping => {
  const wiped: string[] = []
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes a file.',
    input: z.object({ file: z.string() }),
    needsApproval: ({ file }) => file.startsWith('b'),
    execute: async ({ file }) => {
      wiped.push(file)
      return `wiped ${file}`
    },
  })
  const ask = tool({ name: 'ask', description: 'Asks a person.' })
  const model = scriptedModel(turns, script)
  return { agent: new Agent(model, { tools: [wipe, ask], ...options }), model, wiped }
}
