import type { AnyActor } from 'xstate'
import type { AgentInput } from '../../machines/events.ts'
import { messagesIn } from '../../machines/pendingCalls.ts'
import { findProvider } from '../../providers/registry.ts'
import { actorOf, agentOf, type HostedFrom } from '../agent/Agent.ts'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { textPart, toolCallsOf } from '../messages/messages.ts'
import { parseModelString } from '../model/modelString.ts'
import { newId } from '../model/newId.ts'
import { type ActorRecord, isRunData } from './ActorRecord.ts'
import { conversationBefore } from './conversation.ts'
import { isSaid } from './messageRow.ts'
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
    if (typeof callId !== 'string') return this.#start(record, { input: inputOf(record, given) }, model)
    const { arguments: edited } = given
    if (!isJsonObject(edited)) throw new Refusal(400, 'The arguments must be a JSON object.')
    const snapshot = snapshotBefore(record, callId)
    if (!snapshot) throw new Refusal(409, 'What the run was like before this call is no longer kept.')
    return this.#start(record, { snapshot }, model, (actor) => {
      for (const decision of decisionsOn(record, snapshot, callId, edited)) actor.send(decision)
    })
  }

  #start(record: ActorRecord, from: HostedFrom, model: unknown, then?: (actor: AnyActor) => void): number {
    const agent = agentOf(record.machine)
    if (!agent) throw new Refusal(409, 'This is not the run of an agent.')
    const other = modelOf(model)
    const { answerSchema: _, ...values } = record.values
    const actor = actorOf(agent, from, { ...values, ...(other && { prepareStep: () => ({ model: other }) }) })
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

const inputOf = (record: ActorRecord, { prompt, seq, before }: JsonObject): AgentInput => {
  if (typeof prompt !== 'string' || prompt.trim() === '') throw new Refusal(400, 'Write a question first.')
  const { context } = (record.snapshot ?? {}) as { context?: unknown }
  const history = conversationBefore(record, context)
  const own = typeof before === 'number' ? null : messagesOf(record, seq)
  const { messages, attached } = own ? { messages: own, attached: [] } : upTo(record, before)
  return {
    ...settingsOf(context),
    id: newId(),
    prompt: [...attached, textPart(prompt)],
    history: [...history, ...messages],
  }
}

/** What the run was given beside its prompt. A typed answer is not asked for again: the page shows text. */
const settingsOf = (context: unknown): Partial<AgentInput> => {
  const { input }: { input?: unknown } = Object(context)
  const given = isRunData(context) ? context.options : isJsonObject(input) ? (input as AgentInput) : {}
  const { system, settings, limits } = given
  return {
    ...(typeof system === 'string' && { system }),
    ...(settings && { settings }),
    ...(limits && { limits }),
  }
}

/** What the run had said by a moment, up to the last answer that is whole. */
const messagesOf = (record: ActorRecord, seq: unknown): ChatMessage[] => {
  const moment = typeof seq === 'number' && record.moments.findLast((each) => each.seq <= seq)
  const messages = messagesIn(moment ? moment.snapshot : record.snapshot)
  const end = messages.findLastIndex((each) => each.role === 'model' && toolCallsOf(each).length === 0)
  return messages.slice(0, end + 1)
}

/** What came before the message that an attempt answers, and what was attached to that. */
const upTo = (record: ActorRecord, index: unknown) => {
  const attempt = record.attempts[Number(index)]
  if (!attempt) throw new Refusal(404, 'This message is not known.')
  const { messages } = attempt.state
  const last = record.attempts.slice(0, Number(index)).findLast(({ owner }) => owner === attempt.owner)
  const at = messages.findIndex((each, place) => place >= (last?.before ?? 0) && isSaid(each))
  const parts = messages[at]?.parts ?? []
  if (parts.some(({ type }) => type === 'toolResult'))
    throw new Refusal(409, 'This message came with results of tools: edit the first one instead.')
  const isOwn = attempt.owner === record.id
  return {
    messages: isOwn ? messages.slice(0, Math.max(0, at)) : [],
    attached: parts.filter(({ type }) => type !== 'text'),
  }
}
