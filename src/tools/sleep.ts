import type { JsonObject } from '../messages/json.ts'
import { checkOptions, wholeFrom } from '../messages/optionRules.ts'
import { type Tool, tool } from './tool.ts'

/** Options of {@link sleepTool}. */
export type SleepOptions = {
  /** The longest sleep; a longer one ends after this time. Default: a day. */
  maxMs?: number
}

const dayMs = 86_400_000

const schemaUpTo = (maxMs: number): JsonObject => ({
  type: 'object',
  properties: {
    seconds: {
      type: 'number',
      exclusiveMinimum: 0,
      description: `Seconds to sleep, ${Math.floor(maxMs / 1000)} at most.`,
    },
  },
  required: ['seconds'],
  additionalProperties: false,
})

/**
 * A tool that lets the model sleep. Other calls of the turn end first. A stored run that sleeps is only a row of its
 * store, and any process continues it when the time has come; `runs.wake` ends a sleep early.
 *
 * @example new Agent('openai:gpt-6-luna', { tools: [status, sleepTool({ maxMs: 3_600_000 })] })
 */
export const sleepTool = (options: SleepOptions = {}): Tool => {
  checkOptions<SleepOptions>('The options of sleepTool', options, { maxMs: wholeFrom(1) })
  const { maxMs = dayMs } = options
  return {
    ...tool({
      name: 'sleep',
      description:
        'Pauses your work for some time, such as until a job that you have started should be done. You continue afterwards.',
      input: { jsonSchema: schemaUpTo(maxMs) },
      repeatable: true,
    }),
    // A person may have changed the arguments to anything.
    sleepMs: (args) => {
      const { seconds }: { seconds?: unknown } = Object(args)
      return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, maxMs) : 0
    },
  }
}
