import { createActor, type Snapshot } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'

// Runs of an agent that calls other agents, stored in the middle of a turn.

const call = (id: string, name: string, args: JsonObject = {}) => ({
  toolCall: { id, name, arguments: args },
})
const prompt = { prompt: 'Do it.' }
const twoQuestions: ScriptTurn = [call('x', 'risky'), call('y', 'risky')]

type Turns = { boss: ScriptTurn[]; manager?: ScriptTurn[]; expert?: ScriptTurn[] }

/** A boss that calls an expert, or a manager that calls the expert; `ran`: what its tools ran, with the attempt. */
const team = ({ boss, manager = [], expert = [] }: Turns, isSlow: boolean, options: AgentOptions = {}) => {
  const ran: string[] = []
  const work = (name: string, rest: object = {}) =>
    tool({
      name,
      description: name,
      input: { jsonSchema: { type: 'object' } },
      ...rest,
      execute: (args, { callId, attempt, addUsage }) => {
        ran.push(`${callId} ${attempt} ${JSON.stringify(args)}`)
        addUsage({ inputTokens: 7 })
        return isSlow && name !== 'quick' ? new Promise(() => {}) : `ran ${callId}`
      },
    })
  const asker = new Agent(scriptedModel(expert), { tools: [work('risky', { needsApproval: true })] })
  const middle = new Agent(scriptedModel(manager), {
    tools: [asker.asTool({ name: 'expert', description: 'Knows' })],
  })
  const agent = new Agent(scriptedModel(boss), {
    tools: [
      asker.asTool({ name: 'expert', description: 'Knows' }),
      middle.asTool({ name: 'manager', description: 'Manages' }),
      work('pay', { onInterrupted: 'ask' }),
      work('look', { onInterrupted: 'rerun' }),
      work('quick'),
      work('edit', { needsApproval: true, onInterrupted: 'rerun' }),
    ],
    toolExecution: 'parallel',
    ...options,
  })
  return { agent, ran }
}

const stored = (snapshot: unknown): JsonObject & Snapshot<unknown> => JSON.parse(JSON.stringify(snapshot))

type Scene = {
  turns: Turns
  options?: AgentOptions
  /** The run as it was stored; without it, that of the actor once nothing moves any more. */
  store?: (agent: Agent, later: () => Agent) => Promise<unknown>
}

/** Starts a run and stores it when nothing moves any more. */
const atRest = async (agent: Agent) => {
  const actor = agent.actor({ prompt: 'Go', id: 'job' }).start()
  await idle(20)
  const snapshot = stored(actor.getPersistedSnapshot())
  actor.stop()
  return snapshot
}

const asksExpert = [call('a', 'expert', prompt)]

const scenes = {
  /** A sub-agent waits for two decisions. */
  waiting: { turns: { boss: [asksExpert], expert: [twoQuestions] } },
  /** So does one below a sub-agent. */
  nested: {
    turns: {
      boss: [[call('m', 'manager', prompt)]],
      manager: [asksExpert],
      expert: [twoQuestions],
    },
  },
  /** A sub-agent waits, one call has its result, and one is running. */
  working: {
    turns: {
      boss: [[...asksExpert, call('q', 'quick'), call('l', 'look')]],
      expert: [twoQuestions],
    },
  },
  /** A call with changed arguments is running. */
  edited: {
    turns: { boss: [[call('e', 'edit', { n: 1 }), call('q', 'quick')]] },
    store: async (agent: Agent) => {
      const actor = agent.actor({ prompt: 'Go', id: 'job' }).start()
      await idle(20)
      actor.send({ type: 'tool.approve', callId: 'e', arguments: { n: 2 } })
      await idle(20)
      return actor.getPersistedSnapshot()
    },
  },
  /** After a restore, a person decides on a call in doubt; a sub-agent that waited is paused meanwhile. */
  paused: {
    turns: { boss: [[...asksExpert, call('p', 'pay'), call('l', 'look')]], expert: [twoQuestions] },
    store: async (agent: Agent, later: () => Agent) => {
      const snapshot = await atRest(agent)
      const actor = createActor(later().machine, { input: {}, snapshot }).start()
      await idle(20)
      return actor.getPersistedSnapshot()
    },
  },
  /** After a restore, a decision has come for a sub-agent that is not there yet. */
  decided: {
    turns: { boss: [asksExpert], expert: [twoQuestions] },
    store: async (agent: Agent, later: () => Agent) => {
      const snapshot = await atRest(agent)
      const actor = createActor(later().machine, { input: {}, snapshot }).start()
      actor.send({ type: 'tool.reject', callId: 'a/x', reason: 'no' })
      return actor.getPersistedSnapshot()
    },
  },
  /** The last result is on its way to the run. */
  ended: {
    turns: { boss: [[call('q', 'quick'), call('r', 'quick')], [{ hang: true }]] },
    store: async (agent: Agent) => {
      let last: unknown
      const actor = createActor(agent.machine, {
        input: { prompt: 'Go', id: 'job' },
        inspect: (event) => {
          if (event.type !== '@xstate.event' || event.actorRef !== actor) return
          const isReport = /^(tool\.finished|xstate\.done\.actor\.toolExecutor)$/.test(event.event.type)
          if (isReport) last = stored(actor.getPersistedSnapshot())
        },
      })
      actor.start()
      await idle(20)
      return last
    },
  },
  /** A sub-agent waits below an orchestrator. */
  orchestrated: {
    turns: { boss: [asksExpert], expert: [twoQuestions] },
    options: { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) },
  },
} satisfies Record<string, Scene>

export type SceneName = keyof typeof scenes
export const sceneNames = Object.keys(scenes) as SceneName[]

/** The run of a scene as this release stores it. */
export const storedScene = async (name: SceneName): Promise<JsonObject> => {
  const { turns, options = {}, store = atRest }: Scene = scenes[name]
  const { agent } = team(turns, true, options)
  return stored(await store(agent, () => team({ boss: [] }, true, options).agent))
}

/** A team that continues from a scene. */
export const successors = (name: SceneName) => {
  const { options = {} }: Scene = scenes[name]
  const manager: ScriptTurn[] = ['Managed.']
  return team(
    { boss: ['All done.', 'It is good.', 'Better.'], manager, expert: ['Expert done.'] },
    false,
    options,
  )
}
