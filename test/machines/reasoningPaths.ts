import { createAgentMachine, createReasoningMachine } from '../../machines/index.ts'
import type { PathOptions } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { fromRun, runEvents } from './runEvents.ts'

const run = createAgentMachine({ model: scriptedModel([]) })

export const reasoning = createReasoningMachine({
  prompts: { analysis: 'a', hypothesis: 'h', evidence: 'e', synthesis: 's' },
  thinker: run,
  researcher: run,
  takesSchema: true,
})

export const reasoningPaths: PathOptions<typeof reasoning> = {
  inputs: [{ prompt: 'hi' }],
  events: () => runEvents('ok'),
  key: ({ value, status, context: { failure, abortReason } }) =>
    JSON.stringify([value, status, failure?.name, abortReason]),
  from: fromRun,
}
