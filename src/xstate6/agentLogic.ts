import { type Actor, type AnyActorLogic, type AnyMachineSnapshot, createActor } from 'xstate'
import type {
  ActorLogic,
  ActorScope,
  AnyActorSystem,
  ExecutableActionObject,
  Snapshot,
  StateValue,
} from 'xstate6'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from '../../machines/agent/events.ts'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { reportBetween } from '../../machines/logic/reports.ts'
import type { PhasedRun } from '../../machines/orchestrators/phasedRun.ts'
import type { Agent } from '../agent/Agent.ts'
import type { ActorValues, Output, TypedOptions } from '../agent/options.ts'
import type { Schema } from '../tools/schema.ts'

/** The state of a run as XState 6 shows it: plain data. Stored, it is the same as with XState 5. */
export type AgentView<T = string> = Snapshot<AgentOutput<T>> & {
  /** The state of the chart: `matchesState('Accumulating', snapshot.value)`. */
  value: StateValue
  /** The data of the run; with a schema or an orchestrator, that of its phases. */
  context: StreamingState | PhasedRun
  /** `streaming`, `waiting`, or none. */
  tags: ReadonlySet<string>
}

/** An agent as actor logic of XState 6. */
export type AgentLogic<T = string, Deps = unknown> = ActorLogic<
  AgentView<T>,
  AgentCommand,
  AgentInput<Deps>,
  AnyActorSystem,
  AgentEmitted
>

/** Options of {@link agentLogic}: a schema for the answer, and the values of a run that is restored. */
export type AgentLogicOptions<Deps = unknown, S extends Schema = never> = Partial<ActorValues<Deps>> &
  TypedOptions<S>

type Scope = ActorScope<AgentView<unknown>, AgentCommand, AnyActorSystem, AgentEmitted>

/** Events that the logic sends to itself. */
type RunEvent =
  | { type: 'statewire.snapshot'; snapshot: AnyMachineSnapshot }
  | { type: 'statewire.error'; error: unknown }

/**
 * An agent as actor logic of XState 6: invoke it, spawn it, send it commands, listen to what it emits, store and restore
 * it. Inside runs the same machine as with XState 5, on its own copy of XState 5.
 *
 * @example
 * const machine = setup({ actors: { writer: agentLogic(agent) } }).createMachine({
 *   invoke: { src: 'writer', input: { prompt: 'Hello' }, onDone: ({ output }) => ({ context: { output } }) },
 * })
 */
export const agentLogic = <Deps = unknown, S extends Schema = never, M extends AnyActorLogic = AnyActorLogic>(
  agent: Agent<Deps, M>,
  options: AgentLogicOptions<Deps, S> = {},
): AgentLogic<Output<S>, Deps> => {
  const machine = machineOf(agent, options)
  const runs = new WeakMap<object, Actor<AnyActorLogic>>()
  /** The snapshots of the run, or what it was to be restored from, by what is shown of them. */
  const sources = new WeakMap<object, { run: AnyMachineSnapshot } | { stored: Snapshot<unknown> }>()

  const show = (run: AnyMachineSnapshot): AgentView<unknown> => {
    const { status, output, error, value, context, tags } = run
    // The fields of each status are those of the run.
    const view = { status, output, error, value, context, tags } as AgentView<unknown>
    sources.set(view, { run })
    return view
  }

  const attach = ({ self, emit }: Scope, run: Actor<AnyActorLogic>): void => {
    const send: (event: RunEvent) => void = (event) => self.send(event as never)
    let before: AnyMachineSnapshot | undefined
    run.on('*', (event) => void emit(event as AgentEmitted))
    run.subscribe({
      next: (snapshot: AnyMachineSnapshot) => {
        const report = reportBetween(before, snapshot, self.id)
        before = snapshot
        if (report) self._parent?.send(report)
        send({ type: 'statewire.snapshot', snapshot })
      },
      error: (error) => send({ type: 'statewire.error', error }),
    })
  }

  const begin = (scope: Scope, run: Actor<AnyActorLogic>): void => {
    runs.set(scope.self, run)
  }

  const initial = (input: AgentInput<Deps>, scope: Scope): AgentView<unknown> => {
    const run = createActor(machine, { input })
    begin(scope, run)
    return show(run.getSnapshot())
  }

  const logic: ActorLogic<
    AgentView<unknown>,
    AgentCommand,
    AgentInput<Deps>,
    AnyActorSystem,
    AgentEmitted
  > = {
    getInitialSnapshot: (scope, input) => initial(input, scope),
    initialTransition: (input, scope) => [initial(input, scope), []],
    start: (_, scope) => {
      const run = runs.get(scope.self)
      if (!run) return
      attach(scope, run)
      run.start()
    },
    transition: (snapshot, event: AgentCommand | RunEvent | { type: '@xstate.stop' }, { self }) => {
      const run = runs.get(self)
      switch (event.type) {
        case 'statewire.snapshot':
          return [show(event.snapshot), []]
        case 'statewire.error':
          return [{ ...snapshot, status: 'error', output: undefined, error: event.error }, []]
        case '@xstate.stop':
          return [
            { ...snapshot, status: 'stopped', output: undefined, error: undefined },
            [effect('statewire.stop', () => void run?.stop())],
          ]
        default:
          return [snapshot, [effect('statewire.send', () => run?.send(event))]]
      }
    },
    getPersistedSnapshot: (snapshot) => {
      const source = sources.get(snapshot)
      if (!source) return snapshot
      return 'stored' in source ? source.stored : machine.getPersistedSnapshot(source.run)
    },
    restoreSnapshot: (stored, scope) => {
      const run = createActor(machine, { snapshot: stored, input: undefined })
      begin(scope, run)
      const restored: AnyMachineSnapshot = run.getSnapshot()
      if (restored.status !== 'error') return show(restored)
      // It starts and fails, so that the parent gets the reason.
      const { value, context } = Object(stored)
      const view = {
        status: 'active',
        output: undefined,
        error: undefined,
        value,
        context,
        tags: new Set<string>(),
      }
      sources.set(view, { stored })
      return view as AgentView<unknown>
    },
  }
  // The output follows from the schema.
  return logic as AgentLogic<Output<S>, Deps>
}

const machineOf = <Deps, M extends AnyActorLogic, S extends Schema>(
  agent: Agent<Deps, M>,
  { schema, ...values }: AgentLogicOptions<Deps, S>,
): AnyActorLogic =>
  schema
    ? agent.machineFor<S>(schema, values as ActorValues<Deps>)
    : agent.machineFor(undefined, values as ActorValues<Deps>)

const effect = (type: string, exec: () => void): ExecutableActionObject => ({
  kind: 'action',
  type,
  params: undefined,
  args: [],
  action: exec,
  exec,
})
