import type { ActorLogic, AnyActorRef, AnyEventObject, AnyMachineSnapshot, Snapshot } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { Infer, Schema } from '../../src/tools/schema.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import type { AgentCommand, AgentEmitted } from '../agent/events.ts'
import type { AnyRunMachine } from '../logic/wrapLogic.ts'
import { createDecisionMachine, type DecisionQuestion } from './decisionMachine.ts'
import type { OrchestratorParts } from './orchestrator.ts'

/** The events a model may choose from, by type: what each means, and the schema of its payload if it has one. */
export type DecisionEvents = Record<string, { description: string; input?: Schema }>

type Payload<Event> = Event extends { input: infer S extends Schema } ? Infer<S> : unknown

/** An event with its payload: `{ type: 'guess', number: 7 }`. */
export type DecidedEvent<Events extends DecisionEvents> = {
  [Type in keyof Events & string]: Payload<Events[Type]> & { type: Type }
}[keyof Events & string]

/** The input of a decision: a question, and the events to choose from. */
export type DecisionInput<Events extends DecisionEvents> = DecisionQuestion & {
  /** The events that make sense now. Default: all. */
  allowed?: readonly (keyof Events & string)[]
}

/** An actor that asks a model for the next event: to be invoked. */
export type Decision<Events extends DecisionEvents> = ActorLogic<
  Snapshot<DecidedEvent<Events>>,
  AgentCommand,
  DecisionInput<Events>,
  AnyActorRef['system'],
  AgentEmitted
>

/** The steps of a decision: choosing takes one, the others are for payloads that do not fit at first. */
const defaultMaxSteps = 5

type DecisionLogic = ActorLogic<AnyMachineSnapshot, AnyEventObject, DecisionQuestion>

/**
 * The decision actor. It is one chart for each set of events that was ever allowed: a model uses every tool that it
 * sees, so it must not see the others.
 */
export const createDecisionLogic = (
  events: DecisionEvents,
  { config, lifecycle }: OrchestratorParts,
): DecisionLogic => {
  const tools = eventTools(events)
  const machines = new Map<string, AnyRunMachine>()

  const machineFor = (allowed: readonly string[] = [...tools.keys()]): AnyRunMachine => {
    const offered = [...tools].filter(([type]) => allowed.includes(type))
    if (offered.length === 0) throw new ConfigurationError(nothingAllowed(allowed, tools))
    const key = JSON.stringify(offered.map(([type]) => type))
    const machine = machines.get(key) ?? machineOf(offered)
    machines.set(key, machine)
    return machine
  }

  const machineOf = (offered: [string, Tool][]): AnyRunMachine =>
    createDecisionMachine({
      typeOf: new Map(offered.map(([type, { name }]) => [name, type])),
      run: lifecycle({
        tools: [...(config.tools ?? []), ...offered.map(([, each]) => each)],
        settings: { toolChoice: 'required', parallelToolCalls: false, ...config.settings },
        maxSteps: config.maxSteps ?? defaultMaxSteps,
      }),
    })

  // The model and the tools are checked now, not when the first decision is due.
  machineFor()
  return {
    getInitialSnapshot: (scope, input) => machineFor(input.allowed).getInitialSnapshot(scope, input),
    transition: (snapshot, event, scope) =>
      machineFor(allowedIn(snapshot)).transition(snapshot, event, scope),
    start: (snapshot, scope) => machineFor(allowedIn(snapshot)).start(snapshot, scope),
    getPersistedSnapshot: (snapshot, options) =>
      machineFor(allowedIn(snapshot)).getPersistedSnapshot(snapshot, options),
    restoreSnapshot: (stored, scope) => machineFor(allowedIn(stored)).restoreSnapshot(stored, scope),
  }
}

/** The tool of each event: taking its arguments is all it does, and the run is over. */
const eventTools = (events: DecisionEvents): Map<string, Tool> =>
  new Map(
    Object.entries(events).map(([type, { description, input }]) => [
      type,
      tool({
        name: type.replace(/[^\w-]/g, '_'),
        description,
        ...(input && { input }),
        execute: (payload) => payload,
        endsRun: true,
        onInterrupted: 'rerun',
        maxResult: Number.POSITIVE_INFINITY,
      }),
    ]),
  )

const nothingAllowed = (allowed: readonly string[], tools: ReadonlyMap<string, Tool>): string =>
  tools.size === 0
    ? 'A decision needs events to choose from.'
    : `None of the allowed events (${allowed.join(', ')}) is an event of the decision: ${[...tools.keys()].join(', ')}.`

/** A stored snapshot may be anything: the machine itself refuses what it cannot continue from. */
const allowedIn = (stored: Snapshot<unknown>): readonly string[] | undefined => {
  const allowed: unknown = (stored as Partial<AnyMachineSnapshot>).context?.question?.allowed
  return Array.isArray(allowed) ? allowed : undefined
}
