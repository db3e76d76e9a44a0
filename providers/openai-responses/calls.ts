import type { JsonObject } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { stringAt } from '../wireJson.ts'
import type { OutputItem } from './outputItems.ts'

/** The arguments of a function call, or the input of a custom one. */
export const argumentsIn = (item: JsonObject | undefined): unknown =>
  item?.type === 'custom_tool_call' ? item.input : item?.arguments

export const isWritten = (text: unknown): boolean => text !== undefined && text !== null && text !== ''

/** The whole as told at the end, else the pieces, else what the announcement brought. */
const writtenIn = (item: OutputItem): unknown =>
  [item.whole, item.pieces, argumentsIn(item.announced)].find(isWritten)

const isCutItem = (item: OutputItem): boolean => stringAt(item.done, 'status') === 'incomplete'

/** The call as it stands. One that was cut never runs, even if its arguments happen to be valid so far. */
export const callOf = (item: OutputItem, isCut = isCutItem(item)): WireToolCall => {
  const written = writtenIn(item)
  const call = { id: item.callId || item.id, name: item.name }
  if (isCut) {
    const argumentsError = 'The call was cut off before it was complete.'
    const argumentsRaw = typeof written === 'string' ? written : JSON.stringify(written ?? '')
    return { ...call, arguments: parseArguments(written).arguments, argumentsRaw, argumentsError }
  }
  // A custom tool takes any text, so its one argument is that text.
  if (item.type === 'custom_tool_call') {
    return { ...call, arguments: { input: typeof written === 'string' ? written : '' } }
  }
  return { ...call, ...parseArguments(written) }
}

/** In an incomplete response also a call that nobody declared done is cut. */
export const callAtEnd = (item: OutputItem, isIncomplete: boolean): WireToolCall =>
  callOf(item, isCutItem(item) || (isIncomplete && !item.done && item.whole === undefined))

/** Whether a call may be reported although the answer never came to its end. */
export const isComplete = (item: OutputItem): boolean => {
  const written = writtenIn(item)
  if (written === undefined || isCutItem(item)) return false
  return item.type === 'custom_tool_call'
    ? item.whole !== undefined
    : parseArguments(written).argumentsError === undefined
}

export const progressOf = (item: OutputItem, text: string): Delta => ({
  type: 'toolDelta',
  index: item.callOrder,
  ...(item.callId !== '' && { id: item.callId }),
  ...(item.name !== '' && { name: item.name }),
  arguments: text,
})
