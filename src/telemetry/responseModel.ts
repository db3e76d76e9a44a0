import { isJsonObject, type JsonValue } from '../messages/json.ts'
import type { WireListener } from '../model/chatModel.ts'

/** The first events of an answer, one of which names the model. */
const firstEvents = 3
/** The longest event that is read for it. */
const longestEvent = 100_000

/** Listens to the wire for the model that answers, which only the wire names, beside another listener. */
export const withModel = (
  listener: WireListener | undefined,
  onModel: (model: string) => void,
): WireListener => {
  let left = firstEvents
  return {
    request: (sent) => {
      left = firstEvents
      listener?.request(sent)
    },
    head: (head) => listener?.head(head),
    event: (event) => {
      listener?.event(event)
      if (left === 0) return
      left -= 1
      const model = event.data.length > longestEvent ? undefined : modelIn(event.data)
      if (model === undefined) return
      left = 0
      onModel(model)
    },
  }
}

/** The name of the model in an event of any protocol: beside the answer, or in it. */
const modelIn = (data: string): string | undefined => {
  const event = parsed(data)
  const places = isJsonObject(event) ? [event, event.response, event.message] : []
  for (const place of places) {
    const name = isJsonObject(place) ? (place.model ?? place.modelVersion) : undefined
    if (typeof name === 'string' && name !== '') return name
  }
  return undefined
}

const parsed = (data: string): JsonValue | undefined => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
