import { EventEmitter, on, once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type Actor, createActor } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import { pendingIn } from '../../../machines/tools/pendingCalls.ts'
import type { Agent, HostedFrom } from '../../../src/agent/Agent.ts'
import { outcomeOf as outcomeOfOutput } from '../../../src/agent/runOutcome.ts'
import type { DurableChunk, RunStatus, WaitsFor } from '../../../src/durable/runs.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import { moment } from './moments.ts'
import { type AgentName, promptOf, type RunPlan } from './plan.ts'
import { outcomeOf, type WorkerRuns } from './workerRuns.ts'

/**
 * The control: runs kept as one would by hand, with a checkpoint whenever `subscribe` says that something changed. By then
 * the children of the new state have started, so it must fail where the store must not.
 */
export const subscribedRuns = async (
  folder: string,
  agents: Readonly<Partial<Record<AgentName, Agent>>>,
): Promise<WorkerRuns> => {
  const actors = new Map<string, Actor<AgentMachine>>()
  const changes = new EventEmitter().setMaxListeners(0)
  const snapshotFile = (id: string) => `${folder}/${id}.json`
  const streamFile = (id: string) => `${folder}/${id}.chunks`

  const follow = (plan: RunPlan, from: HostedFrom): void => {
    const { id } = plan
    const agent = agents[plan.agent]
    if (!agent) throw new Error(`There is no agent ${plan.agent}.`)
    const actor = createActor(agent.machine, { input: {}, ...from })
    const show = (chunk: DurableChunk) => {
      appendFileSync(streamFile(id), `${JSON.stringify(chunk)}\n`)
      changes.emit(id)
    }
    let waited = ''
    const checkpoint = () => {
      const [first, ...rest] = waitsFor(actor)
      const waits = first ? JSON.stringify([first, ...rest].map((call) => call.id)) : ''
      if (first && waits !== waited) show(waitChunk([first, ...rest]))
      waited = waits
      const stored = JSON.stringify({ plan, snapshot: actor.getPersistedSnapshot() })
      moment('write')
      writeFileSync(`${snapshotFile(id)}.new`, stored)
      renameSync(`${snapshotFile(id)}.new`, snapshotFile(id))
      moment('write')
      changes.emit(id)
    }
    actors.set(id, actor)
    actor.subscribe({ next: checkpoint, complete: checkpoint, error: checkpoint })
    actor.on('chunk', ({ type: _, pendingApproval: __, ...chunk }) => show(chunk))
    actor.start()
    checkpoint()
  }

  const actorOf = (id: string): Actor<AgentMachine> => {
    const actor = actors.get(id)
    if (!actor) throw new Error(`There is no run ${id}.`)
    return actor
  }
  const statusOf = (actor: Actor<AgentMachine>): RunStatus => {
    const { status, output } = actor.getSnapshot()
    if (status === 'active') return waitsFor(actor).length > 0 ? 'waiting' : 'running'
    return output?.status ?? 'failed'
  }
  const chunksOf = (id: string): string[] =>
    existsSync(streamFile(id)) ? readFileSync(streamFile(id), 'utf8').split('\n').slice(0, -1) : []

  for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
    const { plan, snapshot } = JSON.parse(readFileSync(`${folder}/${name}`, 'utf8'))
    follow(plan, { snapshot })
  }

  return {
    start: async (plan) => {
      if (!actors.has(plan.id)) follow(plan, { input: { id: plan.id, prompt: promptOf(plan) } })
    },
    send: async (id, command) => {
      const actor = actorOf(id)
      if (actor.getSnapshot().status !== 'active') throw new Error(`The run ${id} is over.`)
      actor.send(command)
    },
    info: async (id) => {
      const actor = actors.get(id)
      return actor && { status: statusOf(actor), pending: waitsFor(actor) }
    },
    outcome: async (id) => {
      const actor = actorOf(id)
      while (statusOf(actor) === 'running') await once(changes, id)
      const outcome = outcomeOfOutput(actor.getSnapshot().output)
      const result = async () => {
        if (!outcome) throw new Error('It has no outcome yet.')
        if ('error' in outcome) throw outcome.error()
        return { messages: outcome.result.messages, output: outcome.result.output }
      }
      return outcomeOf(result(), async () => statusOf(actor))
    },
    async *stream(id, after = '0', signal) {
      const changed = on(changes, id, { signal })
      for (let next = Number(after); ; ) {
        const isLast = statusOf(actorOf(id)) !== 'running'
        for (const line of chunksOf(id).slice(next)) {
          next += 1
          yield { cursor: String(next), chunk: JSON.parse(line) }
        }
        if (isLast) return
        await changed.next()
      }
    },
    close: async () => {
      for (const actor of actors.values()) actor.stop()
    },
  }
}

/** The calls that it waits for. What runs below it may wait a moment before it knows. */
const waitsFor = (actor: Actor<AgentMachine>): PendingCall[] => {
  const snapshot = actor.getSnapshot()
  return snapshot.hasTag('waiting') ? pendingIn(snapshot) : []
}

const waitChunk = (calls: WaitsFor['calls']): DurableChunk => ({
  id: '',
  output: '',
  messages: [],
  finishReason: 'toolCalls',
  metadata: {},
  pendingApproval: { calls },
})
