import type { Agent, StartFrom } from '../agent/Agent.ts'
import type { PendingCall } from '../messages/result.ts'
import { type AgentTurnOptions, agentTurn } from './agentTurn.ts'
import type { Chats, Decisions, Question, Turn, TurnContext } from './chats.ts'
import { clientToolsFor } from './clientTools.ts'
import { Refusal } from './Refusal.ts'
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
    // A client that asks something else has given up the decision.
    this.#waiting.delete(chatId)
    return this.#turn(chatId, prompt, { ...this.#options(context), history })
  }

  async resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    context: TurnContext,
  ): Promise<Turn> {
    const pending = this.#waiting.get(chatId)
    const decisions = pending ? decide(pending.calls) : {}
    if (!pending || Object.keys(decisions).length === 0) throw nothingDecided()
    const options = this.#options(context)
    // Before anything else happens: the same decision a second time finds nothing.
    this.#waiting.delete(chatId)
    return this.#turn(chatId, { snapshot: pending.snapshot, decisions }, options)
  }

  async current(): Promise<undefined> {}

  async stop(): Promise<void> {}

  async history(): Promise<undefined> {}

  #options({ context, tools = [] }: TurnContext): AgentTurnOptions {
    return { context, clientTools: clientToolsFor(this.#agent, tools) }
  }

  #turn(chatId: string, from: StartFrom, options: AgentTurnOptions): Turn {
    return {
      follow: async (audience) => {
        const pending = await agentTurn(this.#agent, from, options, audience)
        if (pending) this.#waiting.put(chatId, pending)
      },
    }
  }
}

export const nothingDecided = () =>
  new Refusal(
    409,
    'No call of this chat waits for such a decision: it was already decided on, or is too old.',
  )
