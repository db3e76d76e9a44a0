import { messagesIn } from '../../machines/pendingCalls.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Usage } from '../messages/result.ts'

/** What is shown of a run, by its snapshot: a stored one, or that of its actor. A chart of the user's may have any data. */
export const standingOf = (snapshot: unknown): { state: string; step: number; usage: Usage | undefined } => {
  const { value, context } = isJsonObject(snapshot) ? snapshot : {}
  const { step, totals } = isJsonObject(context) ? context : {}
  const usage = isJsonObject(totals) && isJsonObject(totals.usage) ? totals.usage : undefined
  return {
    state: typeof value === 'string' ? value : (Object.keys(isJsonObject(value) ? value : {})[0] ?? ''),
    step:
      typeof step === 'number' ? step : messagesIn(snapshot).filter(({ role }) => role === 'model').length,
    usage: usage as Usage | undefined,
  }
}
