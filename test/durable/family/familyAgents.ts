import { appendFileSync } from 'node:fs'
import { Agent } from '../../../src/agent/Agent.ts'
import {
  type ChatMessage,
  isTaskResult,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../../src/messages/messages.ts'
import type { ScriptStep } from '../../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../../src/tools/sleep.ts'
import { tool } from '../../../src/tools/tool.ts'
import { wordyModel } from '../wordyModel.ts'

/** The topics of a lead: a reader of the first one sleeps, that of the second one asks a person, that of the third one in vain. */
export const topics = ['a', 'b', 'c'] as const

/** The results of a lead's tasks, as its model sees them. */
export const found = ['Found: Read a1 (Slept).', 'Found: Read b1 (allowed).', 'Found: Read c1 (refused).']

/** An answer of a model, as it follows from the conversation: then it is the same again. */
export type Turn = { text: string; calls: { id: string; name: string; arguments: Record<string, unknown> }[] }

const said = (text: string): Turn => ({ text, calls: [] })

const resultsIn = (messages: readonly ChatMessage[]) => messages.flatMap(toolResultsOf)
const tasksIn = (messages: readonly ChatMessage[]) => messages.filter(isTaskResult)
const lastLine = (message: ChatMessage) => textOf(message).split('\n').at(-1) ?? ''

/** The end of the prompt, which names the task. */
const topicOf = ([first]: readonly ChatMessage[]): string =>
  (first ? textOf(first).split(' ').at(-1) : '') ?? ''

export const leadTurn = (messages: readonly ChatMessage[]): Turn => {
  const names = new Set(resultsIn(messages).map(({ name }) => name))
  const [first] = messages
  const run = first ? textOf(first) : ''
  if (!names.has('research'))
    return {
      text: 'I start three researchers. ',
      calls: topics.map((topic) => ({
        id: topic,
        name: 'research',
        arguments: { prompt: `${run} ${topic}` },
      })),
    }
  if (!names.has('sleep'))
    return { text: 'I sleep a while. ', calls: [{ id: 's', name: 'sleep', arguments: { seconds: 0.03 } }] }
  const last = messages.at(-1)
  const about = last && toolResultsOf(last).length === 0 ? lastLine(last) : 'the sleep'
  return said(`I have ${tasksIn(messages).length} of 3 results, after ${about} `)
}

const researcherTurn = (messages: readonly ChatMessage[]): Turn => {
  const [task] = tasksIn(messages)
  if (task) return said(`Found: ${lastLine(task)}`)
  if (resultsIn(messages).length > 0) return said('I wait for my reader. ')
  const [first] = messages
  const prompt = `${first ? textOf(first) : ''}1`
  return { text: '', calls: [{ id: 'r', name: 'read', arguments: { prompt } }] }
}

const readerTurn = (messages: readonly ChatMessage[]): Turn => {
  const [noted, waited] = resultsIn(messages)
  const topic = topicOf(messages)
  if (!noted) return { text: 'I note it. ', calls: [{ id: 'n', name: 'note', arguments: {} }] }
  if (waited) return said(`Read ${topic} (${/\w+/.exec(waited.isError ? 'refused' : waited.result)?.[0]}).`)
  if (topic.startsWith('a'))
    return { text: '', calls: [{ id: 'z', name: 'sleep', arguments: { seconds: 0.05 } }] }
  return { text: '', calls: [{ id: 'q', name: topic.startsWith('b') ? 'ask' : 'late', arguments: {} }] }
}

/** Finds what a message of a lead has that its model did not say to the conversation before it. */
export const flawOf = (message: ChatMessage, before: readonly ChatMessage[]): string | undefined => {
  const { text, calls } = leadTurn(before)
  const isCut = message.metadata?.interrupted === 'message'
  const isSame = isCut ? text.startsWith(textOf(message)) : text === textOf(message)
  const names = toolCallsOf(message).map(({ name }) => name)
  const expected = isCut ? [] : calls.map(({ name }) => name)
  return isSame && names.join() === expected.join()
    ? undefined
    : `said ${JSON.stringify(textOf(message))} and called ${names}, not ${JSON.stringify(text)} and ${expected}`
}

const stepsOf = ({ text, calls }: Turn): ScriptStep[] => [
  ...(text.match(/\S+\s*/g) ?? []).flatMap((word) => [{ text: word }, { delayMs: 1 }]),
  ...calls.map((toolCall) => ({ toolCall }) as ScriptStep),
]

const modelOf = (turn: (messages: readonly ChatMessage[]) => Turn) =>
  wordyModel(({ messages }) => stepsOf(turn(messages)))

/**
 * A lead with researchers in the background, each of which has a reader in the background. `effects`: the file in which
 * the readers leave what they do; a call of `note` is never to run twice.
 */
export const familyLead = (effects: string): Agent => {
  const note = tool({
    name: 'note',
    description: 'Notes something',
    execute: async (_, { idempotencyKey }) => {
      appendFileSync(effects, `${idempotencyKey}\n`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return 'noted'
    },
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks a person',
    needsApproval: true,
    onInterrupted: 'rerun',
    execute: () => 'allowed by a person',
  })
  const late = tool({
    name: 'late',
    description: 'Asks a person who does not answer',
    needsApproval: true,
    expiresMs: 40,
    execute: () => 'never',
  })
  const reader = new Agent(modelOf(readerTurn), { tools: [note, ask, late, sleepTool()] })
  const read = reader.asTool({ name: 'read', description: 'Reads', background: true })
  const researcher = new Agent(modelOf(researcherTurn), { tools: [read] })
  const research = researcher.asTool({ name: 'research', description: 'R', background: true, maxTasks: 2 })
  return new Agent(modelOf(leadTurn), { tools: [research, sleepTool()] })
}
