/** The error of a run says where it came from: who was asked, or which part of the engine broke. */
import { expect, test } from 'vitest'
import { createActor } from 'xstate'
import { type AgentMachineConfig, createAgentMachine } from '../../machines/index.ts'
import { appendDeltas } from '../../src/model/accumulator.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { endOf } from './watching.ts'

const errorOf = async (turns: ScriptTurn[], config: Partial<AgentMachineConfig> = {}) => {
  const machine = createAgentMachine({ model: scriptedModel(turns), tools: [recorder().tool], ...config })
  const actor = createActor(machine, { input: { prompt: 'Go' } })
  actor.start()
  const output = await endOf(actor)
  return output.status === 'failed' ? output.error : undefined
}
