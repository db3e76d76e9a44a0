import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { list, object } from '../recordings/wireItems.ts'

/** Whether an event of a protocol says that the answer is over, read from the protocol and not from its decoder. */
const endings: Record<string, (event: JsonObject) => boolean> = {
  'openai-chat': ({ choices }) => list(choices).some(({ finish_reason }) => Boolean(finish_reason)),
  mistral: ({ choices }) => list(choices).some(({ finish_reason }) => Boolean(finish_reason)),
  'openai-responses': ({ type }) => /^response\.(completed|incomplete|failed|cancelled)$/.test(`${type}`),
  anthropic: ({ type, delta, message }) =>
    type === 'message_stop' || Boolean(object(delta).stop_reason) || Boolean(object(message).stop_reason),
  google: ({ candidates, promptFeedback }) =>
    list(candidates).some(({ finishReason }) => Boolean(finishReason)) ||
    Boolean(object(promptFeedback).blockReason),
  ollama: ({ done }) => done === true,
  cohere: ({ type }) => type === 'message-end',
}

/** Counts the whole events of an answer, or of the beginning of one, that mark its end. */
export const countEndMarks = (protocol: string, body: Uint8Array): number => {
  const isEnd = endings[protocol]
  return Buffer.from(body)
    .toString()
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/^data: ?/, ''))
    .filter((data) => data === '[DONE]' || isEnd?.(parsed(data))).length
}

const parsed = (data: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(data)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
