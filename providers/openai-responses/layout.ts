import type { JsonObject } from '../../src/messages/json.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'
import { isServerTool } from './itemContent.ts'
import type { OutputItem } from './outputItems.ts'

/**
 * What is needed to rebuild the items of an answer from its message (see `replay.ts`); empty if the message has them in
 * this order anyway. `calls` are the calls of the message.
 */
export const layoutFor = (items: readonly OutputItem[], calls: readonly OutputItem[]): JsonObject[] => {
  const orders = new Map(calls.map((call, order) => [call, order]))
  const layout: JsonObject[] = []
  let reasoning: JsonObject[] = []
  for (const item of items) {
    const entry = entryFor(item, orders)
    if (item.type === 'reasoning') reasoning.push(...(entry ? [entry] : []))
    // Reasoning that led to a server-side tool goes with it: the tool's item is not sent back either.
    else if (!item.isCall && isServerTool(item.type)) reasoning = []
    else if (entry) {
      layout.push(...reasoning, entry)
      reasoning = []
    }
  }
  return isPlain(layout) ? [] : layout
}

const entryFor = (item: OutputItem, orders: ReadonlyMap<OutputItem, number>): JsonObject | undefined => {
  if (item.type === 'reasoning') return encryptedReasoning(item.done)
  const order = orders.get(item)
  if (item.isCall) return order === undefined ? undefined : { type: item.type, call: order }
  if (item.type !== 'message' || item.textLength === 0) return undefined
  const phase = stringAt(item.done ?? item.announced, 'phase')
  return { type: 'message', length: item.textLength, ...(phase !== undefined && { phase }) }
}

/** Reasoning is worth keeping only with its encrypted content: without it the item exists at the provider alone. */
const encryptedReasoning = (item: JsonObject | undefined): JsonObject | undefined => {
  const id = stringAt(item, 'id')
  const encrypted = stringAt(item, 'encrypted_content')
  if (id === undefined || !encrypted) return undefined
  const content = arrayAt(item, 'content') ?? []
  const summary = arrayAt(item, 'summary') ?? []
  return {
    type: 'reasoning',
    id,
    summary,
    ...(content.length > 0 && { content }),
    encrypted_content: encrypted,
  }
}

/** At most one message, then function calls: the order a message has anyway. */
const isPlain = (layout: readonly JsonObject[]): boolean =>
  layout.every((entry, i) =>
    i === 0 && entry.type === 'message' ? !entry.phase : entry.type === 'function_call',
  )
