import type { AnyActor } from 'xstate'
import { findProvider } from '../../providers/registry.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import { agentOfMachine } from '../agent/AgentInternals.ts'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { parseModelString } from '../model/modelString.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { nextInput } from './nextInput.ts'
import { decisionsOn, snapshotBefore } from './otherArguments.ts'
import type { Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'

const longestModel = 300

/** Runs that a person began from the page: the next question, or another try. They end with the inspector. */
export class Trials {
  readonly #recorder: Recorder
  readonly #actors = new Set<AnyActor>()

  constructor(recorder: Recorder) {
    this.#recorder = recorder
  }

  close(): void {
    for (const actor of this.#actors) actor.stop()
  }

  /** Begins a run, and gives its id on the page. */
  begin(record: ActorRecord, given: JsonObject): number {
    const { callId, model } = given
    if (typeof callId !== 'string') return this.#start(record, { input: nextInput(record, given) }, model)
    const { arguments: edited } = given
    if (!isJsonObject(edited)) throw new Refusal(400, 'The arguments must be a JSON object.')
    const snapshot = snapshotBefore(record, callId)
    if (!snapshot) throw new Refusal(409, 'What the run was like before this call is no longer kept.')
    return this.#start(record, { snapshot }, model, (actor) => {
      for (const decision of decisionsOn(record, snapshot, callId, edited)) actor.send(decision)
    })
  }

  #start(record: ActorRecord, from: HostedFrom, model: unknown, then?: (actor: AnyActor) => void): number {
    const agent = agentOfMachine(record.machine)
    if (!agent) throw new Refusal(409, 'This is not the run of an agent.')
    const other = modelOf(model)
    const { answerSchema: _, ...values } = record.values
    const actor = agent.actor(from, { ...values, ...(other && { prepareStep: () => ({ model: other }) }) })
    // An agent without this inspector is watched from here on; one that has it is watched already.
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

const modelOf = (model: unknown): string | undefined => {
  if (model === undefined || model === '') return undefined
  if (typeof model !== 'string' || model.length > longestModel)
    throw new Refusal(400, 'The model must be a model string, such as openai:gpt-6-luna.')
  try {
    findProvider(parseModelString(model).provider)
    return model
  } catch (thrown) {
    throw new Refusal(400, describeThrown(thrown))
  }
}
