export type Source = {
  protocol: string
  /** The model string that makes the history. */
  model: string
  /** Three answers: two rounds of calls and the last words. */
  answers: string[]
  /** The data that only this provider may ever see again. */
  sealed: string[]
  /** The data that must come back to this provider, byte for byte. */
  returned: string[]
}

export const thought = 'They want two cities, so two calls.'
export const firstWords = 'Let me look.'
export const lastWords = 'Warm in both.'

export type Event = { type: string; [key: string]: unknown }

export const sse = (events: object[], done = ''): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + done
export const named = (events: Event[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
export const ndjson = (lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
