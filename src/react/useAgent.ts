import { useEffect, useState, useSyncExternalStore } from 'react'
import type { AnyActorLogic } from 'xstate'
import type { Agent } from '../agent/Agent.ts'
import type { Last, Output, SendOptions, TypedOptions } from '../agent/options.ts'
import type { Part } from '../messages/messages.ts'
import type { ChatResult } from '../messages/result.ts'
import type { AboutQuestion, ApprovalOptions } from '../tools/approval.ts'
import type { Schema } from '../tools/schema.ts'
import { type AgentState, AgentStore, type StartRun, type StoreOptions } from './AgentStore.ts'

/** Options of {@link useAgent}: those of a send, which count for each run that starts from here on. */
export type UseAgentOptions<Deps = unknown, S extends Schema = never> = Omit<
  SendOptions<Deps>,
  'id' | 'signal' | 'onStart' | 'parent'
> &
  TypedOptions<S> & {
    /** Sent when the component is mounted, once. Default: nothing is sent until `send` is called. */
    prompt?: string | Part[]
    /** Called with each chunk, before it is part of the state: to write into the page without a render. */
    onChunk?: (chunk: ChatResult) => void
  }

/** A conversation of a component with an agent: its state, and what the component can do. The functions never change. */
export type UsedAgent<T = string> = AgentState<T> & {
  /** Sends a prompt, after the conversation so far. Throws while a run is under way. */
  send(prompt: string | Part[]): void
  /** Ends the run that is under way, if there is one. */
  abort(reason?: string): void
  /** Adds a message, which the model sees at its next turn. */
  steer(text: string): void
  /** Approves a pending call; see `Run.approve`. */
  approve(callId: string, options?: ApprovalOptions): void
  /** Refuses a pending call; see `Run.reject`. */
  reject(callId: string, reason?: string, about?: AboutQuestion): void
  /** Gives the result of an external tool; see `Run.answer`. */
  answer(callId: string, result: unknown, options?: { isError?: boolean } & AboutQuestion): void
}

/**
 * A conversation with an agent that runs in the page. A run starts once, also under `StrictMode`, and ends with the
 * component. The text of an answer is part of the state at most once per frame, however many chunks it comes in.
 *
 * @example
 * const { messages, text, pending, status, send, approve, abort } = useAgent(agent)
 */
export const useAgent = <Deps = unknown, S extends Schema = never, M extends AnyActorLogic = AnyActorLogic>(
  agent: Agent<Deps, M>,
  ...rest: Last<UseAgentOptions<Deps, S>>
): UsedAgent<Output<S>> => {
  const options: StoreOptions = Object(rest[0])
  const start: StartRun<Output<S>> = (prompt, values) => {
    // The types of this hook have checked that the options have what the agent needs.
    const last: unknown = [values]
    return agent.start<S>(prompt, ...(last as Last<SendOptions<Deps> & TypedOptions<S>>))
  }
  const [{ store, actions }] = useState(() => {
    const made = new AgentStore(start, options)
    return { store: made, actions: actionsOf(made) }
  })
  useEffect(() => {
    store.start = start
    store.options = options
  })
  useEffect(() => store.mount(), [store])
  const state = useSyncExternalStore(store.subscribe, store.getState, store.getState)
  return { ...state, ...actions }
}

type Actions = Omit<UsedAgent, keyof AgentState>

const actionsOf = (store: AgentStore<unknown>): Actions => {
  const command = (send: () => void) => {
    send()
    store.commanded()
  }
  return {
    send: store.send,
    abort: store.abort,
    steer: (text) => command(() => store.run().steer(text)),
    approve: (callId, options) => command(() => store.run().approve(callId, options)),
    reject: (callId, reason, about) => command(() => store.run().reject(callId, reason, about)),
    answer: (callId, result, options) => command(() => store.run().answer(callId, result, options)),
  }
}
