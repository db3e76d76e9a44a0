import type { AnyActorRef } from 'xstate'
import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'
import { copyJson, isJsonObject } from '../../src/messages/json.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { hostOf } from '../logic/runHost.ts'
import { tracerOf } from '../logic/runTracer.ts'

/** A request, and its name for the host of the run. */
export type NamedRequest = { model: ChatModel; request: ModelRequest; name: string }

/** Sends a request for an actor of a run, through the tracer and the host of the run. Returns a function that closes it. */
export const askModel = (
  { name: agent, hide }: ResolvedConfig,
  self: AnyActorRef,
  { model, request, name }: NamedRequest,
  sink: ModelSink,
): (() => void) => {
  const ask = (to: ModelSink) =>
    tracerOf(self).turn(self, { agent, model, request, hide }, (traced) => model.stream(request, traced), to)
  const { turn } = hostOf(self)
  return closing(turn ? turn(name, ask, sink) : ask(sink), (thrown) => sink.fail(modelFailure(thrown)))
}

/** A user's model may fail with an Error instead of its data. */
export const modelFailure = (error: unknown): ErrorData => {
  try {
    if (isJsonObject(error) && !(error instanceof Error) && typeof error.message === 'string') {
      return copyJson(error) as ErrorData
    }
  } catch {
    // Full of traps, or no data: described like anything else.
  }
  return errorDataOf(error, 'ModelError')
}

/**
 * A function that closes a request, from anything a user's model may return: nothing, a promise, a function that
 * throws.
 */
const closing = (returned: unknown, fail: (thrown: unknown) => void): (() => void) => {
  const close = (): void => {
    try {
      if (typeof returned === 'function') returned()
    } catch {
      // The request is over: an error while closing it does not matter.
    }
  }
  if (!isThenable(returned)) return close
  const late = Promise.resolve(returned)
  late.catch(fail)
  return () => void late.then((found) => closing(found, () => {})()).catch(() => {})
}
