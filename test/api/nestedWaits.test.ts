/**
 * Calls that wait inside of sub-agents: every kind of tool, at every depth, with every decision, in a run that goes on or is
 * stored at each wait. None wedges, what was approved runs once with the arguments that were approved, and nothing else does.
 */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { PendingCall, SendResult } from '../../src/messages/result.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { CallDecision } from '../../src/tools/approval.ts'
import { tool } from '../../src/tools/tool.ts'
import { settled, waitOf } from './askingAgent.ts'

const kinds = ['approval', 'external', 'both'] as const
const depths = [0, 1, 2] as const
const decisions = ['yes', 'edited', 'no', 'failed'] as const
const ways = ['live', 'one by one', 'stored', 'stored one by one'] as const
const executions = ['sequential', 'parallel'] as const
const siblings = ['none', 'free', 'waiting'] as const

type Case = {
  kind: (typeof kinds)[number]
  depth: (typeof depths)[number]
  decision: (typeof decisions)[number]
  way: (typeof ways)[number]
  execution: (typeof executions)[number]
  sibling: (typeof siblings)[number]
}

const input = { jsonSchema: { type: 'object' } }

/** An agent whose innermost calls wait, each level below a call of the level above. */
const agentOf = ({ kind, depth, execution, sibling }: Case, ran: string[]): Agent => {
  const execute = (args: unknown) => {
    ran.push(JSON.stringify(args))
    return 'it ran'
  }
  const inner = tool({
    name: 'inner',
    description: 'inner',
    input,
    needsApproval: kind !== 'external',
    ...(kind === 'approval' && { execute }),
  })
  const free = tool({ name: 'free', description: 'free', input, execute: () => 'free' })
  const calls = (id: string, name: string): ScriptTurn => {
    const pair = name === 'sub2' ? [] : [`${id}b`]
    const call = { id, name, arguments: name === 'inner' ? { n: 1 } : { prompt: 'Go' } }
    const others = {
      none: [],
      free: [{ ...call, id: 'f', name: 'free' }],
      waiting: pair.map((other) => ({ ...call, id: other })),
    }
    return [call, ...others[sibling]].map((toolCall) => ({ toolCall }))
  }
  // A sub-agent may be called twice: its model starts over for each of its runs.
  const model = (turn: ScriptTurn) => {
    const base = scriptedModel([])
    return {
      ...base,
      stream: (...[request, sink]: Parameters<typeof base.stream>) => {
        const isAnswered = request.messages.at(-1)?.parts.some(({ type }) => type === 'toolResult')
        return scriptedModel([isAnswered ? 'Done.' : turn]).stream(request, sink)
      },
    }
  }
  let agent = new Agent(model(calls('call_0', 'inner')), { tools: [inner, free], toolExecution: execution })
  for (let level = 1; level <= depth; level += 1) {
    const below = agent.asTool({ name: `sub${level}`, description: 'sub' })
    const turn = calls('call_0', `sub${level}`)
    agent = new Agent(model(turn), { tools: [below, free], toolExecution: execution })
  }
  return agent
}

const decisionOn = ({ kind, question }: PendingCall, decision: Case['decision']): CallDecision => {
  const about = question === undefined ? {} : { question }
  if (decision === 'no') return { approve: false, ...about }
  if (kind === 'answer') return { result: 'from outside', isError: decision === 'failed', ...about }
  return { approve: true, ...about, ...(decision === 'edited' && { arguments: { n: 2 } }) }
}

/** Decides until the run ends; fails if it is left without an end and without anything to decide on. */
const playTo = async (agent: Agent, { way, decision }: Case, asked: PendingCall[]): Promise<SendResult> => {
  let run = agent.start('Go')
  for (let wait = 0; wait < 40; wait += 1) {
    const result = await settled(run.result)
    if (!result.pendingApproval) return result
    const pending = way.endsWith('one by one') ? run.pending.slice(0, 1) : run.pending
    asked.push(...pending)
    if (way.startsWith('stored')) {
      const given = pending.map((call) => [call.id, decisionOn(call, decision)])
      const { snapshot } = waitOf(result)
      run.abort()
      await run.result.catch(() => {})
      run = agent.start({ snapshot, decisions: Object.fromEntries(given) })
      continue
    }
    for (const call of pending) {
      const given = Object(decisionOn(call, decision))
      const about = { question: call.question ?? '' }
      if (given.approve === false) run.reject(call.id, 'no', about)
      else if (given.approve) run.approve(call.id, given)
      else run.answer(call.id, given.result, given)
    }
  }
  throw new Error('The run waits again and again.')
}

const cases = kinds.flatMap((kind) =>
  depths.flatMap((depth) =>
    decisions.flatMap((decision) =>
      ways.flatMap((way) =>
        executions.flatMap((execution) =>
          siblings.map((sibling): Case => ({ kind, depth, decision, way, execution, sibling })),
        ),
      ),
    ),
  ),
)

describe.each(kinds)('a call that waits for: %s', (kind) => {
  test.each(depths)('ends at depth %i, whatever is decided and however', async (depth) => {
    const chosen = cases.filter((each) => each.kind === kind && each.depth === depth)
    expect(chosen).toHaveLength(96)
    for (const each of chosen) {
      const ran: string[] = []
      const asked: PendingCall[] = []
      const place = JSON.stringify(each)
      const { answer } = await playTo(agentOf(each, ran), each, asked).catch((cause) => {
        throw new Error(`${place}: ${cause}`, { cause })
      })
      expect(answer, place).toBe('Done.')
      const count = each.sibling === 'waiting' ? (depth === 0 ? 2 : 4) : 1
      const isYes = each.decision !== 'no'
      const questions = new Set(asked.map(({ question }) => question))
      expect(questions.size, place).toBe(asked.length)
      expect(asked.length, place).toBe(kind === 'both' && isYes ? 2 * count : count)
      const args = each.decision === 'edited' ? '{"n":2}' : '{"n":1}'
      expect(ran, place).toEqual(kind === 'approval' && isYes ? Array(count).fill(args) : [])
    }
  })
})
