import { describeThrown } from '../../messages/errors.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import { asToolResult, errorResult } from '../../tools/toolResult.ts'
import { CommandWatch } from './CommandWatch.ts'
import type { NumberedCommand, ReplayEngine } from './replay.ts'

/** One attempt at a call of a tool, as it is recorded. */
export type CallRecord =
  | { type: 'result'; result: ToolResultPart; commands: NumberedCommand[] }
  /** An abort came before the tool was done. */
  | { type: 'cut'; commands: NumberedCommand[] }
  /** It had started in an earlier life, and it is not known whether it took effect. */
  | { type: 'inDoubt' }

/**
 * A call is two steps. The first says that the tool is going to run; it is recorded before the tool runs. If it is
 * recorded without a result, the call is in doubt. Both take their places at once, so that parallel calls have the same
 * places in every life.
 */
export const recordedCall = (
  name: string,
  execute: () => Promise<ToolResultPart>,
  engine: ReplayEngine,
  seen: () => number,
): Promise<CallRecord> => {
  let isNew = false
  const intent = engine.step(`${name} intent`, async () => {
    isNew = true
    return null
  })
  intent.catch(() => {})
  return engine.step<CallRecord>(name, async () => {
    await intent
    return isNew ? await attempt(execute, engine, seen()) : { type: 'inDoubt' }
  })
}

const attempt = async (
  execute: () => Promise<ToolResultPart>,
  engine: ReplayEngine,
  seen: number,
): Promise<CallRecord> => {
  const watch = new CommandWatch(engine, seen)
  const result = await Promise.race([executed(execute), watch.aborted])
  const commands = await watch.come()
  return result ? { type: 'result', result, commands } : { type: 'cut', commands }
}

/** The actor of a call knows whose result it is. */
const unnamed = { id: '', name: '' }

/** A user's executor may throw, and may return anything. */
const executed = async (execute: () => Promise<ToolResultPart>): Promise<ToolResultPart> => {
  try {
    const result = await execute()
    return asToolResult({ ...unnamed, ...result }, result)
  } catch (thrown) {
    return errorResult(unnamed, describeThrown(thrown))
  }
}

/** For a chart that takes no abort. */
export const cutResult: ToolResultPart = errorResult(
  unnamed,
  'The run was aborted while this tool was running; whether it took effect is unknown.',
)
