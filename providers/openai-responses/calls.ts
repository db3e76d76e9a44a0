import type { JsonObject } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { stringAt } from '../wire/wireJson.ts'
import { neverClosed, withheld } from '../wire/withheldCall.ts'
import type { OutputItem } from './outputItems.ts'

/** The arguments of a function call, or the input of a custom one. */
export const argumentsIn = (item: JsonObject | undefined): unknown =>
  item?.type === 'custom_tool_call' ? item.input : item?.arguments

export const isWritten = (text: unknown): boolean => text !== undefined && text !== null && text !== ''

/** The whole call from the end event, else its pieces, else what the start event had. */
const writtenIn = (item: OutputItem): unknown =>
  [item.whole, item.pieces, argumentsIn(item.announced)].find(isWritten)

const isCutItem = (item: OutputItem): boolean => stringAt(item.done, 'status') === 'incomplete'

/** The call so far. One that was cut never runs, even if its arguments happen to be valid. */
export const callOf = (item: OutputItem, isCut = isCutItem(item)): WireToolCall => {
  const written = writtenIn(item)
  const call = { id: item.callId || item.id, name: item.name }
  if (isCut) {
    const argumentsRaw = typeof written === 'string' ? written : written ? JSON.stringify(written) : ''
    return withheld({ ...call, arguments: parseArguments(written).arguments, argumentsRaw }, neverClosed)
  }
  // A custom tool takes any text, so its one argument is that text.
  if (item.type === 'custom_tool_call') {
    return { ...call, arguments: { input: typeof written === 'string' ? written : '' } }
  }
  return { ...call, ...parseArguments(written) }
}

/**
 * The call of a response that ended. One without a done event is cut if the response is incomplete, if it is empty, or
 * if it takes any text: only arguments that are a whole object need no end event.
 */
export const callAtEnd = (item: OutputItem, isIncomplete: boolean): WireToolCall => {
  const isOpenEnded = item.type === 'custom_tool_call' || isMereName(item)
  return callOf(item, isCutItem(item) || (!isClosed(item) && (isIncomplete || isOpenEnded)))
}

/** The wire sent the whole call. */
const isClosed = (item: OutputItem): boolean => item.done !== undefined || item.whole !== undefined

/** A call that was started and never continued. */
export const isMereName = (item: OutputItem): boolean => !isClosed(item) && writtenIn(item) === undefined

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
