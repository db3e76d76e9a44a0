import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { checkValue, wholeFrom } from '../messages/optionRules.ts'
import { conversationBefore, conversationOf } from './conversation.ts'
import type { Keeper } from './Keeper.ts'
import { hostedFrom } from './sqlite/head.ts'
import { extentOf, pack } from './sqlite/pack.ts'
import type { RunRow } from './sqlite/RunRows.ts'

/** What a fork is to be. */
export type Fork = { id: string; agent: string; atStep: number | undefined }

/** Stores a run that continues from another one. It shares the other's messages: nothing is copied. */
export const forkRun = (keeper: Keeper, from: RunRow, fork: Fork): void => {
  const { store } = keeper
  const items = store.items.load(from.n, from.base)
  const start = hostedFrom(from.head, items)
  const context: string | undefined = JSON.stringify(store.runs.context(from.n))
  const { id, agent, atStep } = fork
  const shared = { id, agent, context, prompt: from.prompt, forkedFrom: from.id }
  const isUnderWay = 'input' in start || start.snapshot.status === 'active'
  if (atStep === undefined && isUnderWay) {
    const head = renamed(from.head, from.id, id)
    const status = from.status === 'waiting' ? 'waiting' : 'running'
    const counts = { live: true, recoveries: 0, hidden: 0, error: undefined }
    keeper.adopt({
      ...from,
      ...shared,
      status,
      ...counts,
      head,
      base: { run: from.n, counts: extentOf(head) },
    })
    return
  }
  const conversation = conversationOf(start)
  const answers = conversation.added.filter(({ role }) => role === 'model').length
  const step = atStep ?? Math.max(1, answers)
  checkValue('atStep', step, wholeFrom(1))
  const history = conversationBefore(conversation, step)
  if (!history)
    throw new ConfigurationError(
      `The run "${from.id}" has no model call number ${step} to fork before: it has ${answers} answers.`,
    )
  const input = { history, id }
  keeper.begin({ ...shared, input, base: { run: from.n, counts: extentOf(pack({ input }, items)) } })
}

/** The head of a run under another id: that of its own data, and of the runs inside it, which are named after it. */
const renamed = (head: string, from: string, to: string): string => {
  const parsed: unknown = JSON.parse(head)
  const rename = (named: unknown, key = 'id') => {
    const name = isJsonObject(named) ? named[key] : undefined
    if (!isJsonObject(named) || typeof name !== 'string') return
    if (name === from || name.startsWith(`${from}/`)) named[key] = to + name.slice(from.length)
  }
  const visit = (snapshot: unknown): void => {
    if (!isJsonObject(snapshot)) return
    for (const data of [snapshot.context, snapshot.input].filter(isJsonObject)) {
      rename(data.options)
      rename(data.input)
    }
    rename(snapshot.input)
    // The tool executor, with the runs of sub-agents, which it may have left to the run itself.
    rename(snapshot, 'run')
    const { round } = Object(snapshot.context)
    for (const runs of [snapshot.runs, Object(round).runs].filter(isJsonObject))
      Object.values(runs).forEach(visit)
    const children: JsonObject = isJsonObject(snapshot.children) ? snapshot.children : {}
    for (const child of Object.values(children)) visit(isJsonObject(child) ? child.snapshot : undefined)
  }
  visit(isJsonObject(parsed) && 'input' in parsed ? parsed : Object(parsed).snapshot)
  return JSON.stringify(parsed)
}
