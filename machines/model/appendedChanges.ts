import { type ChatMessage, systemMessage, textOf } from '../../src/messages/messages.ts'
import type { ModelRequest, ToolSpec } from '../../src/model/chatModel.ts'
import { changeMessage, toolChangeOf } from '../../src/model/promptChange.ts'
import { neverChanges } from '../../src/model/unchanging.ts'
import * as is from '../stored/shape.ts'
import { digest } from '../tools/question.ts'

// A model that takes changes in the middle of a conversation gets the beginning of its first request for ever, and each
// change of the system prompt or of the tools as a message at its place. What is kept for that is small: names, hashes,
// and the text of a prompt that came later.

/** A tool by its name and the hash of its description. */
type KnownTool = { name: string; hash: string }

/** A change before the answer to the first `at` messages of a conversation. */
type Change = { at: number; system?: string; added: KnownTool[]; removed: string[] }

/** The beginning of the first request, and the changes since. Plain JSON. */
export type Opening = {
  /** The hash of the system prompt. */
  system: string
  /** The prompt itself, where it came with a step or a send: no later request could find it again. */
  text?: string
  tools: KnownTool[]
  changes: Change[]
}

const knownTool = is.fields<KnownTool>({ name: is.text, hash: is.text })

export const openingShape = is.fields<Opening>({
  system: is.text,
  text: is.optional(is.text),
  tools: is.listOf(knownTool),
  changes: is.listOf(
    is.fields<Change>({
      at: is.count,
      system: is.optional(is.text),
      added: is.listOf(knownTool),
      removed: is.listOf(is.text),
    }),
  ),
})

/** The prompts of the agent and of the run, and the tools that it has at hand, also those that this request does not have. */
export type AtHand = { ofAgent: string; ofRun: string; tools: readonly ToolSpec[] }

/**
 * The request with the beginning of the conversation's first one, and what to keep of it. The request as it is, if that
 * beginning is not at hand any more: a tool is gone or has another description, or the prompt was that of another agent.
 */
export const appendOnly = (
  request: ModelRequest,
  { ofAgent, ofRun, tools: all }: AtHand,
  before: Opening | undefined,
): { request: ModelRequest; opening: Opening } => {
  const system = systemIn(request.messages)
  const offered = request.tools ?? []
  const said = request.messages.filter(({ role }) => role !== 'system')
  const opening = { system: digest(system), ...(system !== ofAgent && { text: system }) }
  const fresh = { request, opening: { ...opening, tools: offered.map(knownAs), changes: [] } }
  const first = [ofRun, ofAgent, system, before?.text].find(
    (text) => text !== undefined && digest(text) === before?.system,
  )
  if (!before || first === undefined) return fresh
  const find = finder([...offered, ...all])
  const current = currentIn(before)
  const change: Change = {
    at: said.length,
    ...(system !== (current.system ?? first) && { system }),
    added: offered.map(knownAs).filter(({ name, hash }) => current.tools.get(name) !== hash),
    removed: [...current.tools.keys()].filter((name) => !offered.some((spec) => spec.name === name)),
  }
  const isChange = change.system !== undefined || change.added.length + change.removed.length > 0
  // The same messages are asked about again, as after an empty answer: its change is made already.
  const changes = isChange ? [...before.changes, change] : before.changes
  const tools = before.tools.map(find)
  const messages = changes.map(({ added }) => added.map(find))
  const isAtHand = [tools, ...messages].flat().every((spec) => spec !== undefined)
  // It follows a message of the user, and an answer follows it.
  const isInPlace =
    changes.every(({ at }, index) => at > (changes[index - 1]?.at ?? 0)) &&
    (!isChange || said.at(-1)?.role === 'user')
  const written = changes.reduce((length, { system: prompt = '' }) => length + prompt.length, 0)
  const isTooLong = isChange && written > mostWritten
  // A tool that only a search finds is not shown by a message.
  if (!isAtHand || !isInPlace || isTooLong || messages.flat().some((spec) => spec?.deferred)) return fresh
  return {
    request: {
      ...request,
      messages: [
        ...(first === '' ? [] : [systemMessage(first)]),
        ...withChanges(
          said,
          changes.map(({ at, system, removed }, index) => ({
            at,
            message: changeMessage(system, { added: present(messages[index] ?? []), removed }),
          })),
        ),
      ],
      ...(tools.length > 0 && { tools: present(tools) }),
    },
    opening: { ...before, changes },
  }
}

/** The characters of all prompts that came later: a long one that changes with each send would fill the window. */
const mostWritten = 100_000

const nothing: ChatMessage = { role: 'system', parts: [] }

const present = (specs: readonly (ToolSpec | undefined)[]): ToolSpec[] =>
  specs.filter((spec) => spec !== undefined)

const knownAs = (spec: ToolSpec): KnownTool => ({ name: spec.name, hash: digestOf(spec) })

/** The hashes of messages and tools. Both stay the same objects between requests: only what is new is read. */
const digests = new WeakMap<ChatMessage | ToolSpec, string>()

export const digestOf = (each: ChatMessage | ToolSpec): string => {
  const known = digests.get(each)
  if (known !== undefined) return known
  const made = digest(JSON.stringify(each))
  digests.set(each, made)
  neverChanges(each)
  return made
}

/** The system prompt at the beginning of a request: its system messages, from anywhere. */
export const systemIn = (messages: readonly ChatMessage[]): string =>
  messages
    .filter((message) => message.role === 'system' && !toolChangeOf(message))
    .map(textOf)
    .join('\n\n')

/** Finds the description of a tool as it was. */
const finder = (all: readonly ToolSpec[]): ((tool: KnownTool) => ToolSpec | undefined) => {
  const specs = new Map(all.map((spec) => [keyOf(knownAs(spec)), spec]))
  return (tool) => specs.get(keyOf(tool))
}

const keyOf = ({ name, hash }: KnownTool): string => `${hash} ${name}`

/** The prompt and the tools that the last request had in effect. */
const currentIn = ({ tools, changes }: Opening): { system?: string; tools: Map<string, string> } => {
  const offered = new Map(tools.map(({ name, hash }) => [name, hash]))
  for (const { added, removed } of changes) {
    for (const { name, hash } of added) offered.set(name, hash)
    for (const name of removed) offered.delete(name)
  }
  const system = changes.findLast((change) => change.system !== undefined)?.system
  return { ...(system !== undefined && { system }), tools: offered }
}

const withChanges = (
  said: readonly ChatMessage[],
  changes: readonly { at: number; message: ChatMessage }[],
): ChatMessage[] => {
  const places = new Map(changes.map(({ at, message }) => [at, message]))
  return said.flatMap((message, index) => [
    message,
    ...(places.has(index + 1) ? [places.get(index + 1) ?? nothing] : []),
  ])
}
