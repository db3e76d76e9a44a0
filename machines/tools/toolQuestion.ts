import { type ActorLogic, createActor, type Snapshot } from 'xstate'
import type { JsonObject } from '../../src/messages/json.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { newId } from '../../src/model/newId.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import type { CallCommand } from '../agent/events.ts'
import { callOf } from './toolCall.ts'
import type { CallReport } from './toolService.ts'

/** A question, which its first answer ends. An answer to an earlier question of the same call may come late. */
const question = (id: string): ActorLogic<Snapshot<unknown>, CallCommand> => ({
  getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
  transition: (snapshot, command) =>
    command.callId === id ? { status: 'done', output: answerIn(command), error: undefined } : snapshot,
  getPersistedSnapshot: (snapshot) => snapshot,
})

const answerIn = (command: CallCommand): unknown =>
  command.type === 'tool.answer' && !command.isError ? command.result : undefined

/**
 * Asks outside while a tool runs: the run waits, as for a call of an external tool of this name. Returns the answer;
 * undefined if the question is rejected or taken back (`end`), or if the tool is not part of a run. A stored run does not
 * keep the question: the call that asked is cut off with its process.
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
    const call: PendingCall = { type: 'toolCall', id: newId(), name, arguments: args, kind: 'answer' }
    const actor = createActor(question(call.id), { id: name, parent: self })
    const report = (event: CallReport) => self._parent?.send(event)
    const takeBack = () => actor.send({ type: 'tool.reject', callId: call.id })
    const settle = () => {
      signal.removeEventListener('abort', settle)
      end.removeEventListener('abort', takeBack)
      // An aborted run gets no more events.
      if (!signal.aborted) report({ type: 'call.waits', callId, calls: [], isAtWork: true })
      resolve(actor.getSnapshot().output)
    }
    actor.subscribe({ complete: settle })
    signal.addEventListener('abort', settle)
    end.addEventListener('abort', takeBack)
    report({ type: 'call.run', callId, run: actor })
    actor.start()
    report({ type: 'call.waits', callId, calls: [call], isAtWork: false })
  })
