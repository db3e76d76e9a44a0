import * as xstate from 'xstate'
import { hostOf } from '../logic/runEnvironment.ts'
import type { timer } from '../model/modelActor.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { AgentEmitted, AgentEvent } from './events.ts'
import type { StreamingState } from './streamingState.ts'

// XState's creators of actions with the types of the agent's chart: each room writes its own actions, and `agentSetup.ts` collects them.

type Params = xstate.ParameterizedObject['params'] | undefined

/** The child that actions spawn. */
type Timer = { src: 'timer'; logic: typeof timer; id: string | undefined }

/** An action of the chart. The names of guards and of other actions are not part of its type: `setup` infers them all. */
type ActionOf<P extends Params> = (
  args: xstate.ActionArgs<StreamingState, AgentEvent, AgentEvent>,
  params: P,
) => void

type Assign<P extends Params> = typeof xstate.assign<StreamingState, AgentEvent, P, AgentEvent, Timer>
type Emit<P extends Params> = typeof xstate.emit<StreamingState, AgentEvent, P, AgentEvent, AgentEmitted>
type Enqueue<P extends Params> = typeof xstate.enqueueActions<
  StreamingState,
  AgentEvent,
  P,
  AgentEvent,
  Timer,
  never,
  never,
  never,
  AgentEmitted
>

export const assign = <P extends Params = undefined>(assignment: Parameters<Assign<P>>[0]): ActionOf<P> =>
  xstate.assign(assignment)

export const emit = <P extends Params = undefined>(event: Parameters<Emit<P>>[0]): ActionOf<P> =>
  xstate.emit(event)

export const enqueueActions = <P extends Params = undefined>(
  collect: Parameters<Enqueue<P>>[0],
): ActionOf<P> => xstate.enqueueActions(collect)

export const stopChild = (id: string): ActionOf<undefined> =>
  xstate.stopChild<StreamingState, AgentEvent, undefined, AgentEvent>(id)

export const forwardTo = (id: string): ActionOf<undefined> =>
  xstate.forwardTo<StreamingState, AgentEvent, undefined, AgentEvent>(id)

/** Makes the ids of a run: those that its host recorded, if it replays the run. */
export const newIdFor = (config: ResolvedConfig, self: xstate.AnyActorRef, { options }: StreamingState) => {
  const { newId } = hostOf(self)
  return newId ? () => newId(options.id) : config.newId
}
