import { type AnyActor, pathToStateValue, type Snapshot } from 'xstate'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { agentStates } from '../../machines/agent/states.ts'
import { noRound, type StreamingState } from '../../machines/agent/streamingState.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { findProvider } from '../../providers/registry.ts'
import { agentOfMachine } from '../agent/AgentInternals.ts'
import type { HostedFrom } from '../agent/options.ts'
import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../messages/json.ts'
import { toolCallsOf, toolResultsOf } from '../messages/messages.ts'
import { parseModelString } from '../model/modelString.ts'
import { newId } from '../model/newId.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { nextInput } from './conversation.ts'
import type { Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'

const longestModel = 300

/** Runs that a person started from the page: the next question, or another try. They end with the inspector. */
export class PageRuns {
  readonly #recorder: Recorder
  readonly #actors = new Set<AnyActor>()

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  close(): void {
    for (const actor of this.#actors) actor.stop()
  }

  /** Starts a run, and returns its id on the page. */
  start(record: ActorRecord, given: JsonObject): number {
    const { callId, model } = given
    if (typeof callId !== 'string') return this.#startFrom(record, { input: nextInput(record, given) }, model)
    const { arguments: edited } = given
    if (!isJsonObject(edited)) throw new Refusal(400, 'The arguments must be a JSON object.')
    const snapshot = snapshotBefore(record, callId)
    if (!snapshot) throw new Refusal(409, 'The state of the run before this call is no longer kept.')
    return this.#startFrom(record, { snapshot }, model, (actor) => {
      for (const decision of decisionsOn(record, snapshot, callId, edited)) actor.send(decision)
    })
  }

  #startFrom(
    record: ActorRecord,
    from: HostedFrom,
    model: unknown,
    then?: (actor: AnyActor) => void,
  ): number {
    const agent = agentOfMachine(record.machine)
    if (!agent) throw new Refusal(409, 'This is not the run of an agent.')
    const other = modelOf(model)
    const { answerSchema: _, ...values } = record.values
    const actor = agent.actor(from, { ...values, ...(other && { prepareStep: () => ({ model: other }) }) })
    // An agent that has this inspector is watched already.
    if (!this.#recorder.knows(actor)) actor.system.inspect(this.#recorder.inspect)
    const { id } = this.#recorder.adopt(actor, record)
    const forget = () => this.#actors.delete(actor)
    actor.subscribe({ complete: forget, error: forget })
    this.#actors.add(actor)
    actor.start()
    then?.(actor)
    return id
  }
}

/** A run as it would be if a person had to decide on this call and on all calls of the same answer. */
const snapshotBefore = (record: ActorRecord, callId: string): Snapshot<unknown> | undefined => {
  for (const { snapshot } of record.moments) {
    const { context } = snapshot as { context?: unknown }
    if (!isRun(context)) continue
    const calls = callsWith(context, callId)
    // The messages end with the calls: none of them has run.
    if (calls.length === 0 || context.messages.at(-1)?.role !== 'model') continue
    const refused = context.round.results.flat().filter(({ id, rejected }) => id !== callId && !rejected)
    const isRefused = new Set(refused.map(({ id }) => id))
    const round = {
      ...noRound,
      id: newId(),
      external: context.round.external,
      ending: context.round.ending,
      pendingApprovals: calls.filter((id) => !isRefused.has(id)),
      results: refused.length > 0 ? [refused] : [],
    }
    const options = { ...context.options, id: newId() }
    return {
      value: pathToStateValue(approvalState().split('.')),
      historyValue: {},
      children: {},
      status: 'active',
      output: undefined,
      error: undefined,
      context: copyJson({ ...context, options, round, failure: null, abortReason: '' }),
    } as Snapshot<unknown>
  }
  return undefined
}

/** Approves the call with other arguments, and repeats the decisions on the others. Calls that still waited wait again. */
const decisionsOn = (
  record: ActorRecord,
  snapshot: Snapshot<unknown>,
  callId: string,
  edited: JsonObject,
): AgentCommand[] => {
  const { context } = snapshot as Snapshot<unknown> & { context: StreamingState }
  const { context: now } = (record.snapshot ?? {}) as { context?: unknown }
  const state = isRun(now) ? now : context
  const results = [...state.messages.flatMap(toolResultsOf), ...state.round.results.flat()]
  const rejected = new Set(results.filter((each) => each.rejected).map(({ id }) => id))
  const answered = new Set(results.map(({ id }) => id))
  return context.round.pendingApprovals.flatMap((id): AgentCommand[] => {
    if (id === callId) return [{ type: 'tool.approve', callId, arguments: edited }]
    if (rejected.has(id)) return [{ type: 'tool.reject', callId: id }]
    return answered.has(id) ? [{ type: 'tool.approve', callId: id }] : []
  })
}

/** The path of the state in which a run waits for approvals. */
const approvalState = (): string =>
  [...agentStates()].find(([, { waitsFor }]) => waitsFor === 'approval')?.[0] ?? ''

/** The ids of the calls of one answer, if this one is among them. */
const callsWith = ({ messages }: StreamingState, callId: string): string[] => {
  const calls = messages.map((each) => toolCallsOf(each).map(({ id }) => id))
  return calls.find((ids) => ids.includes(callId)) ?? []
}

const modelOf = (model: unknown): string | undefined => {
  if (model === undefined || model === '') return undefined
  if (typeof model !== 'string' || model.length > longestModel)
    throw new Refusal(400, 'The model must be a model string, such as openai:gpt-6-luna.')
  try {
    const { provider, chat } = parseModelString(model)
    findProvider(provider, chat)
    return model
  } catch (thrown) {
    throw new Refusal(400, describeThrown(thrown))
  }
}
