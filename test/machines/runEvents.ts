import type { AnyEventObject } from 'xstate'
import { chunkOf } from '../../machines/agent/announcements.ts'
import type { AgentOutput } from '../../machines/index.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'

/** What anyone may send to a chart that is made of runs. */
export const commandEvents: AnyEventObject[] = [
  { type: 'abort', reason: 'enough' },
  { type: 'tool.approve', callId: 'a' },
  { type: 'tool.reject', callId: 'a' },
  { type: 'tool.answer', callId: 'a', result: 'ok' },
  { type: 'steer', text: 'and be brief' },
  { type: 'compact' },
  { type: 'wake', message: 'Now' },
  { type: 'message', text: 'and be brief' },
  { type: 'task.command', task: 'a', command: { type: 'abort' } },
]

export const emittedEvent = (output: string): AnyEventObject => ({
  type: 'run.emitted',
  emitted: [chunkOf('r', output, [], {})],
})

const result = (text: string): ChatResult => ({
  id: 'r',
  output: text,
  messages: [userMessage('hi'), modelMessage(text)],
  finishReason: 'stop',
  metadata: {},
  usage: { inputTokens: 1 },
})

export const completed = (text: string): AgentOutput => ({ status: 'complete', ...result(text) })

export const abortedRun: AnyEventObject = {
  type: 'xstate.done.actor.run',
  output: { status: 'aborted', reason: 'enough', ...result('') },
}

/** A run may end in each way there is; a good end says one of these texts. */
export const runEnds = (...texts: string[]): AnyEventObject[] => [
  ...texts.map((text) => ({ type: 'xstate.done.actor.run', output: completed(text) })),
  {
    type: 'xstate.done.actor.run',
    output: { status: 'failed', error: { name: 'ModelError', message: 'no' }, ...result('') },
  },
  abortedRun,
  { type: 'xstate.error.actor.run', error: new Error('broken run') },
]

/** All that a state with a run waits for. */
export const runEvents = (...texts: string[]): AnyEventObject[] => [
  ...runEnds(...texts),
  emittedEvent('hello'),
  { type: 'run.waiting' },
  { type: 'run.working' },
  ...commandEvents,
]

export const fromRun = ({ type }: AnyEventObject): string | undefined =>
  type.startsWith('run.') ? 'run' : undefined
