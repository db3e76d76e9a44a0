import type { AgentEmitted } from '../../machines/events.ts'
import { type Agent, type StartFrom, sendWith } from '../agent/Agent.ts'
import type { AnyRun } from '../agent/Run.ts'
import type { PendingCall } from '../messages/result.ts'
import type { Chats, Decisions, Question, Turn, TurnContext } from './chats.ts'
import { Refusal } from './Refusal.ts'
import { eventsOf, type TurnEvent } from './turnEvents.ts'
import type { WaitingRuns } from './WaitingRuns.ts'

/**
 * Chats with an agent in this process. The conversation is the client's: it comes with every question. What waits for a
 * decision stays here. A run ends when its reader leaves.
 */
export class AgentChats implements Chats {
  readonly #agent: Agent
  readonly #waiting: WaitingRuns

  constructor(agent: Agent, waiting: WaitingRuns) {
    this.#agent = agent
    this.#waiting = waiting
  }

  async ask(chatId: string, { prompt, history }: Question, context: TurnContext): Promise<Turn> {
    // Whoever asks something else does not decide any more.
    this.#waiting.delete(chatId)
    return this.#turn(chatId, prompt, { ...context, history })
  }

  async resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    context: TurnContext,
  ): Promise<Turn> {
    const pending = this.#waiting.get(chatId)
    const decisions = pending ? decide(pending.calls) : {}
    if (!pending || Object.keys(decisions).length === 0) throw nothingDecided()
    // Before anything else happens: the same decision a second time finds nothing.
    this.#waiting.delete(chatId)
    return this.#turn(chatId, { snapshot: pending.snapshot, decisions }, context)
  }

  async current(): Promise<undefined> {}

  async stop(): Promise<void> {}

  async history(): Promise<undefined> {}

  #turn(chatId: string, from: StartFrom, options: object): Turn {
    return {
      follow: async ({ hear, signal }) => {
        const onRun = (run: AnyRun) => follow(run, hear)
        const { pendingApproval, finishReason, usage } = await sendWith(this.#agent, from, {
          ...options,
          signal,
          onRun,
        })
        if (pendingApproval) {
          this.#waiting.put(chatId, pendingApproval)
          hear({ type: 'waits', calls: pendingApproval.calls })
        } else hear({ type: 'end', finishReason, ...(usage && { usage }) })
      },
    }
  }
}

export const nothingDecided = () =>
  new Refusal(
    409,
    'No call of this chat waits for such a decision: it was decided on already, or is too old.',
  )

/** Tells what a run emits, and each state that it comes to. */
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
