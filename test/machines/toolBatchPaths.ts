import type { AnyEventObject, SnapshotFrom } from 'xstate'
import { createToolBatchMachine } from '../../machines/index.ts'
import type { ToolCallPart } from '../../src/messages/messages.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'

export const batch = createToolBatchMachine(new Map(), { concurrency: 2 }, createToolExecutor())

const call = (id: string): ToolCallPart => ({ type: 'toolCall', id, name: 'plain', arguments: {} })

const events = ({ context }: SnapshotFrom<typeof batch>): AnyEventObject[] =>
  context.running.map(({ id, name }) => ({
    type: 'call.finished',
    result: { type: 'toolResult', id, name, result: 'ok' },
  }))

export const batchPaths: PathOptions<typeof batch> = {
  inputs: [{ calls: [] }, { calls: [call('a'), call('b'), call('c')] }],
  events,
  key: ({ value, status, context: { waiting, running, results } }) =>
    JSON.stringify([
      value,
      status,
      waiting.map(({ id }) => id),
      running.map(({ id }) => id),
      results.map(({ id }) => id),
    ]),
  from: (event) => `call:${event.result.id}`,
}
