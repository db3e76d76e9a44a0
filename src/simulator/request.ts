import type { JsonObject } from '../messages/json.ts'

export type OfferedTool = { name: string; description: string; parameters: JsonObject }

export type MadeCall = { id: string; name: string; arguments: JsonObject }

/** One message of a conversation, from any wire. Tool results are in a user turn. */
export type Turn = {
  role: 'user' | 'model'
  text: string
  calls: MadeCall[]
  results: { id: string; text: string; isError: boolean }[]
}

/** What the simulator is asked, read from any of its wire formats. */
export type SimulatorRequest = {
  model: string
  turns: Turn[]
  tools: OfferedTool[]
  toolChoice: 'auto' | 'none' | 'required' | { tool: string }
  mayCallSeveral: boolean
  outputSchema: JsonObject | undefined
  isThinking: boolean
  isStreaming: boolean
}

export type PlannedCall = { name: string; arguments: JsonObject }

export type SimulatorReply = { thinking: string; text: string; calls: PlannedCall[] }

/** A request that the API would refuse: it gets an answer with this status, in the API's own error shape. */
export class RefusedRequest extends Error {
  readonly status: number
  constructor(message: string, status = 400) {
    super(message)
    this.status = status
  }
}

/** Every call must be answered right after it, and nothing else: APIs refuse other histories, and so does this one. */
export const refuseUnpaired = (turns: readonly Turn[]): void => {
  turns.forEach(({ calls }, at) => {
    const answered = new Set(turns[at + 1]?.results.map(({ id }) => id))
    const open = calls.find(({ id }) => !answered.has(id))
    if (open) throw new RefusedRequest(`The call ${open.id} of the tool ${open.name} has no result after it.`)
  })
  turns.forEach(({ results }, at) => {
    const asked = new Set(turns[at - 1]?.calls.map(({ id }) => id))
    const stray = results.find(({ id }) => !asked.has(id))
    if (stray)
      throw new RefusedRequest(`The result ${stray.id} does not answer a call of the message before it.`)
  })
}
