import { createActor, type EventObject, fromCallback } from 'xstate'
import type { JsonObject } from '../src/messages/json.ts'
import type { PendingCall } from '../src/messages/result.ts'
import { newId } from '../src/model/newId.ts'
import type { ToolContext } from '../src/tools/tool.ts'
import type { AgentCommand } from './events.ts'
import { callOf } from './toolCall.ts'
import type { CallReport } from './toolService.ts'

type Command = Extract<AgentCommand, { callId: string }>

/**
 * Asks outside while a tool runs: the run waits, as for a call of an external tool of this name, and the answer is what
 * that is answered with. Undefined where the call is rejected, has ended, or belongs to no run. A stored run does not keep
 * the question: the call that asked is cut off with its process.
 */
export const askOutside = (
  { self, signal }: Pick<ToolContext, 'self' | 'signal'>,
  name: string,
  args: JsonObject,
  end: AbortSignal,
): Promise<unknown> =>
  new Promise((resolve) => {
    const callId = callOf(self)?.call.id
    if (!self || callId === undefined || signal.aborted || end.aborted) return resolve(undefined)
    const report = (event: CallReport) => self._parent?.send(event)
    const settle = (answer?: unknown) => {
      signal.removeEventListener('abort', cancel)
      end.removeEventListener('abort', cancel)
      report({ type: 'call.waits', callId, calls: [] })
      resolve(answer)
    }
    const cancel = () => settle()
    const asked = fromCallback<Command & EventObject>(({ receive }) =>
      receive((command) =>
        settle(command.type === 'tool.answer' && !command.isError ? command.result : undefined),
      ),
    )
    const id = newId()
    const call: PendingCall = { type: 'toolCall', id, name, arguments: args, kind: 'answer' }
    const actor = createActor(asked, { id: name, parent: self })
    signal.addEventListener('abort', cancel, { once: true })
    end.addEventListener('abort', cancel, { once: true })
    report({ type: 'call.run', callId, run: actor })
    actor.start()
    report({ type: 'call.waits', callId, calls: [call] })
  })
