import type { AnyActorLogic } from 'xstate'
import {
  createDecisionLogic,
  type Decision,
  type DecisionEvents,
} from '../../machines/orchestrators/decision.ts'
import type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
import { checkValue, fields, object, type Rule, text } from '../messages/optionRules.ts'
import type { ChatModel } from '../model/chatModel.ts'
import { Agent } from './Agent.ts'
import type { AgentOptions } from './options.ts'

/** Options of {@link createDecision}: the model, the events, and all options of an agent. */
type DecisionOptions<Events extends DecisionEvents> = Omit<
  AgentOptions,
  'orchestrator' | 'onApproval' | 'inspect'
> & {
  model: string | ChatModel
  /** The events to choose from, by type. */
  events: Events
}

/**
 * An actor for a machine of your own: a model chooses the machine's next event. The event is validated and sent to the
 * machine that invoked the actor; it is also the actor's output. If the model fails, or chooses nothing even after a
 * reminder, the actor fails with a typed error.
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
  checkValue('events', events, eventsRule)
  const orchestrator: Orchestrator = {
    providerHint: 'decision',
    create: (parts) => createDecisionLogic(events, parts),
  }
  const logic: AnyActorLogic = new Agent(model, { ...options, orchestrator }).machine
  return logic
}

const eventRule = fields({ description: text, input: () => undefined })

const eventsRule: Rule = (name, value) => {
  const problem = object(name, value)
  if (problem)
    return `The ${name} of a decision are keyed by type: write events: { refund: { description, input } }.`
  return Object.entries(Object(value))
    .map(([type, event]) => eventRule(`${name}.${type}`, event))
    .find((each) => each !== undefined)
}
