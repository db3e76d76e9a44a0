import type { AnyActorLogic } from 'xstate'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { AnyRun } from '../../src/agent/Run.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatModel, ModelProfile } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'
import { LeapClock } from '../proof/leapClock.ts'

// Runs in every state in which a run can be stored, in every chart, as they would be stored.

export const answerSchema = z.object({ n: z.number() })

/** The charts, each with the turns before the one in which it calls tools. */
const charts = {
  plain: { options: {}, before: [] },
  approver: { options: { onApproval: () => new Promise<never>(() => {}) }, before: [] },
  reasoning: { options: { orchestrator: reasoningOrchestrator() }, before: ['Analysis.', 'Hypothesis.'] },
  reflection: { options: { orchestrator: reflectionOrchestrator() }, before: [] },
  native: { options: {}, before: [], profile: {} },
  returnResult: { options: {}, before: [], profile: { nativeSchema: false } },
  twoPhases: { options: {}, before: [], profile: { schemaWithTools: false } },
} satisfies Record<string, { options: AgentOptions; before: ScriptTurn[]; profile?: Partial<ModelProfile> }>

export type ChartName = keyof typeof charts
export const chartNames = Object.keys(charts) as ChartName[]

/** Two calls that need an approval, one that does not, and one that is answered from outside. */
const calls: ScriptTurn = [
  { text: 'Well.' },
  { toolCall: { id: 'a', name: 'ask', arguments: { n: 1 } } },
  { toolCall: { id: 'b', name: 'ask', arguments: { n: 2 } } },
  { toolCall: { id: 'f', name: 'free' } },
  { toolCall: { id: 'x', name: 'outside' } },
  { usage: { inputTokens: 5 } },
]

const freeCall = (id: string): ScriptTurn => [{ toolCall: { id, name: 'free' } }]

type StoredCase = {
  turns: ScriptTurn[]
  prompt?: string
  isDecided?: boolean
  isSlow?: boolean
  options?: AgentOptions
}

/** The turns in which a run comes to a state, and what is decided before. */
const states = {
  Requesting: { turns: [[{ hang: true }]] },
  Streaming: { turns: [[{ thinking: 'Hm' }, { text: 'We' }, { metadata: { k: [1] } }, { hang: true }]] },
  BackingOff: { turns: [[{ error: { retryable: true, message: 'busy' } }]] },
  AwaitingApproval: { turns: [calls] },
  ToolExecution: { turns: [calls], isDecided: true, isSlow: true },
  AwaitingTools: { turns: [calls], isDecided: true },
  AtLimit: { turns: [freeCall('f')], options: { limits: { toolCalls: 1 }, atLimit: 'ask' } },
  Summarising: {
    prompt: 'Go on. '.repeat(1000),
    turns: [
      freeCall('f'),
      freeCall('g'),
      [{ error: { retryable: false, message: 'too long', code: 'context_overflow' } }],
      [{ hang: true }],
    ],
  },
} satisfies Record<string, StoredCase>

export type StateName = keyof typeof states
export const stateNames = Object.keys(states) as StateName[]

type Ran = { id: string; args: unknown }

const toolsOf = (ran: Ran[], isSlow: boolean) => {
  const make = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      needsApproval,
      input: { jsonSchema: { type: 'object' } },
      execute: (args, { callId }) => {
        ran.push({ id: callId, args })
        return isSlow ? new Promise(() => {}) : `ran ${callId}`
      },
    })
  return [make('ask', true), make('free', false), tool({ name: 'outside', description: 'outside' })]
}

const agentOf = (chart: ChartName, model: ChatModel, ran: Ran[], isSlow: boolean) =>
  new Agent<unknown, AnyActorLogic>(model, {
    ...charts[chart].options,
    tools: toolsOf(ran, isSlow),
    clock: new LeapClock(),
    retry: { maxRetries: 3, initialDelayMs: 90_000, maxDelayMs: 90_000 },
  })

const profileOf = (chart: ChartName): Partial<ModelProfile> | undefined => {
  const own = charts[chart]
  return 'profile' in own ? own.profile : undefined
}

export const isTyped = (chart: ChartName): boolean => profileOf(chart) !== undefined
const schemaOf = (chart: ChartName) => (isTyped(chart) ? { schema: answerSchema } : {})

/** A run of a chart that has come to a state: its snapshot. */
export const runIn = async (chart: ChartName, state: StateName): Promise<JsonObject> => {
  const { turns, prompt = 'Go', isDecided = false, isSlow = false, options = {} }: StoredCase = states[state]
  const model = scriptedModel([...charts[chart].before, ...turns], { profile: profileOf(chart) ?? {} })
  // Its waits never end: a clock that does not leap.
  const agent = new Agent<unknown, AnyActorLogic>(model, {
    ...charts[chart].options,
    ...options,
    tools: toolsOf([], isSlow),
    retry: { maxRetries: 3, initialDelayMs: 90_000, maxDelayMs: 90_000 },
    clock: { now: () => 0, setTimeout: () => 0, clearTimeout: () => {} },
  })
  const run: AnyRun = agent.start(prompt, schemaOf(chart))
  run.result.catch(() => {})
  await idle(20)
  if (isDecided) {
    run.approve('a')
    run.reject('b', 'no')
    await idle()
  }
  const snapshot = JSON.parse(JSON.stringify(run.snapshot()))
  run.abort()
  if (!JSON.stringify(snapshot).includes(state)) throw new Error(`The ${chart} run is not in ${state}.`)
  return snapshot
}

/** An agent that goes on from such a run; its model always answers. `ran`: what its tools ran. */
export const successor = (chart: ChartName) => {
  const ran: Ran[] = []
  const profile = { ...scriptedModel([]).profile, ...profileOf(chart) }
  const answer = { type: 'text', text: '{"n":1}' } as const
  const returned = {
    type: 'toolCall',
    call: { id: '', name: 'return_result', arguments: { n: 1 } },
  } as const
  const model: ChatModel = {
    provider: 'endless',
    model: 'endless',
    profile,
    stream: ({ tools }, sink) => {
      let isOpen = true
      queueMicrotask(() => {
        if (!isOpen) return
        // A summary is asked for without tools.
        const isReturned = chart === 'returnResult' && tools !== undefined
        sink.deltas([
          isReturned ? returned : answer,
          { type: 'finish', reason: isReturned ? 'toolCalls' : 'stop' },
        ])
        sink.end()
      })
      return () => {
        isOpen = false
      }
    },
  }
  return { ran, agent: agentOf(chart, model, ran, false), schema: schemaOf(chart) }
}
