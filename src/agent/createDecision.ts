import type { AnyActorLogic } from 'xstate'
import {
  createDecisionLogic,
  type Decision,
  type DecisionEvents,
} from '../../machines/orchestrators/decision.ts'
import type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
import type { ChatModel } from '../model/chatModel.ts'
import { Agent, type AgentOptions } from './Agent.ts'

/** Options of {@link createDecision}: the model, the events, and all options of an agent. */
export type DecisionOptions<Events extends DecisionEvents> = Omit<
  AgentOptions,
  'orchestrator' | 'onApproval' | 'inspect'
> & {
  model: string | ChatModel
  /** The events to choose from, by type. */
  events: Events
}

/**
 * An actor for a machine of your own: a model chooses the machine's next event. The event is validated and sent to the
 * machine that invoked the actor; it is also the actor's output. If the model chooses nothing, even after a reminder,
 * the actor fails with a typed error, as it does when the model fails.
 *
 * @example
 * const decide = createDecision({
 *   model: 'openai:gpt-6-luna',
 *   events: {
 *     guess: { description: 'Guess the number', input: z.object({ number: z.int() }) },
 *     give_up: { description: 'Stop playing' },
 *   },
 * })
 * // in your machine: setup({ actors: { decide } }), then
 * // invoke: { src: 'decide', input: { prompt: 'Between 1 and 10?', allowed: ['guess'] } }, on: { guess: … }
 */
export const createDecision = <const Events extends DecisionEvents>({
  model,
  events,
  ...options
}: DecisionOptions<Events>): Decision<Events> => {
  const orchestrator: Orchestrator = {
    providerHint: 'decision',
    create: (parts) => createDecisionLogic(events, parts),
  }
  const logic: AnyActorLogic = new Agent(model, { ...options, orchestrator }).machine
  return logic
}
