import type { AnyActorRef, AnyMachineSnapshot } from 'xstate'
import type { RunTracer, TracedCalls, TracedTurn } from '../../machines/logic/runEnvironment.ts'
import { timeIn } from '../../machines/logic/systemTime.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import type { ModelSink, WireListener } from '../model/chatModel.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { Attempt } from './Attempt.ts'
import type { WireCall } from './WireLog.ts'

/** Records what every request to a model sends and receives. */
export class WireTracer implements RunTracer {
  readonly #recordOf: (actor: AnyActorRef) => ActorRecord | undefined
  readonly #learn: (secrets: readonly string[]) => void

  /**
   * `recordOf` returns the record of an actor; undefined once the inspector is closed. `learn` takes credentials that must
   * be hidden from now on.
   */
  constructor(
    recordOf: (actor: AnyActorRef) => ActorRecord | undefined,
    learn: (secrets: readonly string[]) => void,
  ) {
    this.#recordOf = recordOf
    this.#learn = learn
  }

  turn(actor: AnyActorRef, turn: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown {
    const call = this.#begin(actor, turn)
    return ask(call ? watched(sink, call) : sink)
  }

  calls<T>(_: AnyActorRef, __: TracedCalls, execute: () => T): T {
    return execute()
  }

  #begin({ id, _parent: run, system }: AnyActorRef, { model, request }: TracedTurn): WireCall | undefined {
    try {
      const record = run && this.#recordOf(run)
      if (!run || !record) return undefined
      const { context } = run.getSnapshot() as AnyMachineSnapshot
      const last = record.attempts.at(-1)
      const isSummary = id === 'summariser'
      const call = {
        owner: record.id,
        step: isRun(context) ? context.step : 0,
        isSummary,
        attempt: !isSummary && last instanceof Attempt && last.owner === record.id ? last : undefined,
        model,
        now: () => timeIn(system),
        learn: this.#learn,
      }
      if (!isSummary) noteModel(record, String(model.model))
      const begun = record.wire.begin(call, request)
      if (call.attempt) call.attempt.call = begun
      return begun
    } catch {
      // An observer must not break what it observes.
      return undefined
    }
  }
}

/** Notes the model of a run, and of the machine that the run is a part of. */
const noteModel = (record: ActorRecord, model: string): void => {
  record.model = model.slice(0, 100)
  for (let { parent } = record; parent && !parent.isAgent; parent = parent.parent) parent.model = record.model
}

const watched = (sink: ModelSink, call: WireCall): ModelSink => ({
  deltas: (batch) => sink.deltas(batch),
  end: () => {
    call.end()
    sink.end()
  },
  fail: (error) => {
    call.end(String(error?.message))
    sink.fail(error)
  },
  wire: sink.wire ? both(sink.wire, call) : call,
})

const both = (a: WireListener, b: WireListener): WireListener => ({
  request: (sent) => {
    a.request(sent)
    b.request(sent)
  },
  head: (head) => {
    a.head(head)
    b.head(head)
  },
  event: (event) => {
    a.event(event)
    b.event(event)
  },
})
