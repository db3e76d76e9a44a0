import type { AgentCommand } from '../../machines/agent/events.ts'
import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { accepts } from './actorRow.ts'
import type { PageRuns } from './PageRuns.ts'
import type { Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'
import { StoredRecord } from './StoredRecord.ts'

const longestReason = 2_000

/** Applies a command of the page: it goes to the actor, to the store, or starts a new run. */
export const applyCommand = async (
  recorder: Recorder,
  pageRuns: PageRuns,
  { actor, ...given }: JsonObject,
): Promise<CommandResult> => {
  const subject = typeof actor === 'number' ? recorder.subject(actor) : undefined
  if (!subject) throw new Refusal(404, 'There is no such actor.')
  if (subject instanceof StoredRecord) return toStore(subject, given)
  // A run that has just begun may not be known from its store yet.
  if (subject.run !== '' && !recorder.storedOf(subject))
    await Promise.all(recorder.stores.map((store) => store.look()))
  const stored = recorder.storedOf(subject)
  return stored ? toStore(stored, given) : toActor(subject, pageRuns, given)
}

const toStore = async (record: StoredRecord, given: JsonObject): Promise<CommandResult> => {
  if (given.type === 'again') return { note: '', actor: await fork(record, given) }
  if (given.type !== 'restart') return { note: await store(record, commandOf(given)) }
  if (record.restart()) return { note: '' }
  throw new Refusal(409, notRestartable)
}

const toActor = (record: ActorRecord, pageRuns: PageRuns, given: JsonObject): CommandResult => {
  if (given.type === 'again') return { note: '', actor: pageRuns.start(record, given) }
  if (given.type === 'restart') throw new Refusal(409, notRestartable)
  send(record, commandOf(given))
  return { note: '' }
}

const notRestartable = 'Only a stored run that runs in this process can be killed and continued.'

/** A note for the person, empty if there is nothing to say, and the run that was started. */
type CommandResult = { note: string; actor?: number }

/** Checks a command: nothing but these can be sent. */
const commandOf = ({
  type,
  callId,
  question,
  reason,
  result,
  arguments: edited,
}: JsonObject): AgentCommand => {
  const about = typeof question === 'string' ? { question } : {}
  switch (type) {
    case 'abort':
      return { type, reason: 'from the inspector' }
    case 'tool.approve':
      return { type, callId: textOf(callId), ...about, ...(isJsonObject(edited) && { arguments: edited }) }
    case 'tool.reject':
      return {
        type,
        callId: textOf(callId),
        ...about,
        ...(typeof reason === 'string' && reason !== '' && { reason: reason.slice(0, longestReason) }),
      }
    case 'tool.answer':
      return { type, callId: textOf(callId), ...about, result: String(result ?? '') }
    default:
      throw new Refusal(400, 'This is not a command of the inspector.')
  }
}

const send = (record: ActorRecord, command: AgentCommand): void => {
  const { ref } = record
  if (ref?.getSnapshot().status !== 'active') throw new Refusal(409, 'This actor has ended.')
  if (!accepts(record, command.type)) throw new Refusal(409, `This actor does not accept "${command.type}".`)
  ref.send(command)
}

const store = (record: StoredRecord, command: AgentCommand): Promise<string> =>
  record.send(command).catch((thrown) => {
    throw new Refusal(409, describeThrown(thrown))
  })

const fork = async (record: StoredRecord, given: JsonObject): Promise<number> => {
  try {
    return (await record.again(given)).id
  } catch (thrown) {
    throw thrown instanceof Refusal ? thrown : new Refusal(409, describeThrown(thrown))
  }
}

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Refusal(400, 'The id of the call is missing.')
  return value
}
