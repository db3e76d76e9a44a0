import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { openRuns, type StoredRuns, sqlite } from '../../src/durable/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { ended, folder, seen } from './spawned.ts'

export const removal = tool({
  name: 'remove',
  description: 'Removes a file',
  input: { jsonSchema: { type: 'object', properties: { path: { type: 'string' } } } },
  needsApproval: true,
  execute: ({ path }) => `removed ${path}`,
})

/** A tool that is answered from outside. */
export const lookup = tool({ name: 'lookup', description: 'Looks something up' })

export type Owned = { cwd: string; file: string; runs: StoredRuns; model: ReturnType<typeof scriptedModel> }

/** A file of runs that this process runs: its agent `janitor` plays a script. */
export const owning = async (
  turns: readonly ScriptTurn[],
  cwd?: string,
  options: AgentOptions = {},
): Promise<Owned> => {
  const inside = cwd ?? (await folder())
  const file = join(inside, 'runs.db')
  const model = scriptedModel(turns)
  const agents = { janitor: new Agent(model, { tools: [removal, lookup], ...options }) }
  const runs = await openRuns({ store: sqlite(file), agents })
  onTestFinished(() => runs.close().catch(() => {}))
  return { cwd: inside, file, runs, model }
}

export type Program = { kill(): Promise<void> }

/** Another process that runs the runs of a file, with the agent of owner.mjs. */
export const ownerProcess = async (file: string, baseUrl: string, ...start: string[]): Promise<Program> => {
  const child = spawn(process.execPath, ['test/cli/owner.mjs', file, baseUrl, ...start])
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = ended(child)
  await seen(child.stdout, /up/)
  return {
    kill: async () => {
      child.kill('SIGKILL')
      await end
    },
  }
}
