import type { AnyActorRef } from 'xstate'
import { ToolExecutionError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type Tool, type ToolContext, tool } from '../../src/tools/tool.ts'

export const statusToolName = 'task_status'
export const cancelToolName = 'task_cancel'

/**
 * Makes sure that a tool is called in a run that can have tasks, where the chart writes its result. Elsewhere, as in a run
 * that got the tool with its prompt, no task would ever start.
 */
export const checkTasks = ({ self }: Pick<ToolContext, 'self'>): void => {
  if (!hasTasks(self))
    throw new ToolExecutionError(
      'This run cannot have tasks: give the background agent to the tools of new Agent().',
    )
}

/** Looks at the run that an actor belongs to: the first one above it that has children. */
const hasTasks = (actor: AnyActorRef | undefined): boolean => {
  if (!actor) return false
  const { children } = Object(actor.getSnapshot())
  return children ? 'tasks' in children : hasTasks(actor._parent)
}

const taskSchema: JsonObject = {
  type: 'object',
  properties: { task: { type: 'string', description: 'The id of the task.' } },
  additionalProperties: false,
}

/** The tools that an agent with background agents has beside its own. */
export const taskTools: readonly Tool[] = [
  tool({
    name: statusToolName,
    description: 'Lists the background tasks with their status, or shows one of them.',
    input: { jsonSchema: taskSchema },
    repeatable: true,
    onInterrupted: 'rerun',
    execute: (_, call) => checkTasks(call),
  }),
  tool({
    name: cancelToolName,
    description: 'Cancels a background task. Its result will not come.',
    input: { jsonSchema: { ...taskSchema, required: ['task'] } },
    onInterrupted: 'rerun',
    execute: (_, call) => checkTasks(call),
  }),
]
