import type { Client } from '@modelcontextprotocol/client'
import { pause } from './pause.ts'

const firstDelayMs = 1000
const longestDelayMs = 30_000

/**
 * Newer servers announce changes on a stream that the client opens. When it breaks off, it is opened again, later and
 * later; what changed meanwhile is listed. Ends with the connection.
 */
export const keepListening = async (
  client: Client,
  onChange: () => void,
  end: AbortSignal,
): Promise<void> => {
  let subscription = client.autoOpenedSubscription
  let delay = firstDelayMs
  const { transport } = client
  while (subscription && (await subscription.closed) !== 'local') {
    subscription = undefined
    while (!subscription) {
      await pause(delay, end)
      if (end.aborted || client.transport !== transport) return
      delay = Math.min(delay * 2, longestDelayMs)
      subscription = await client.listen({ toolsListChanged: true }).catch(() => undefined)
    }
    delay = firstDelayMs
    onChange()
  }
}
