import type { AgentEmitted } from '../../machines/agent/events.ts'
import type { Agent, StartFrom } from '../agent/Agent.ts'
import { agentInternals } from '../agent/AgentInternals.ts'
import type { AnyOptions } from '../agent/options.ts'
import type { AnyRun } from '../agent/Run.ts'
import type { PendingApproval } from '../messages/result.ts'
import type { Tool } from '../tools/tool.ts'
import type { Audience } from './chats.ts'
import { eventsOf, type TurnEvent } from './turnEvents.ts'

/** What goes with a turn: the conversation, what the tools get, and tools of the client. */
export type AgentTurnOptions = Pick<AnyOptions, 'history' | 'context'> & { clientTools?: readonly Tool[] }

/** Runs a turn of an agent for its audience, and gives what it waits for. It ends when the audience leaves. */
export const agentTurn = async (
  agent: Agent,
  from: StartFrom,
  { clientTools = [], ...options }: AgentTurnOptions,
  { hear, signal }: Pick<Audience, 'hear' | 'signal'>,
): Promise<PendingApproval | undefined> => {
  // The events may be more than a wire can show: then the run ends.
  const lost = new AbortController()
  const tell = (event: TurnEvent) => {
    try {
      if (!lost.signal.aborted) hear(event)
    } catch (thrown) {
      lost.abort(thrown)
    }
  }
  const internals = agentInternals(agent)
  const sent = internals.send(from, {
    ...options,
    ...(clientTools.length > 0 && { tools: [...internals.tools, ...clientTools] }),
    signal: AbortSignal.any([signal, lost.signal]),
    onRun: (run) => follow(run, tell),
  })
  const { pendingApproval, finishReason, usage } = await sent.catch((error: unknown) => {
    throw lost.signal.aborted ? lost.signal.reason : error
  })
  if (pendingApproval) hear({ type: 'waits', calls: pendingApproval.calls })
  else hear({ type: 'end', finishReason, ...(usage && { usage }) })
  return pendingApproval
}

/** Passes on what a run emits, and each state that it enters. */
const follow = (run: AnyRun, hear: (event: TurnEvent) => void): void => {
  let state = ''
  hear({ type: 'begin', runId: run.id })
  run.on('*', (event) => {
    if (run.state !== state) {
      state = run.state
      hear({ type: 'state', state })
    }
    for (const told of eventsIn(event)) hear(told)
  })
}

function* eventsIn(event: AgentEmitted): Generator<TurnEvent> {
  if (event.type === 'chunk') yield* eventsOf(event)
  else if (event.type === 'tool.delta') yield { ...event, type: 'callPiece' }
  else if (event.type === 'tool.result') yield { type: 'result', result: event.result }
  else if (event.type === 'tool.progress')
    yield { type: 'progress', callId: event.callId, value: event.value }
}
