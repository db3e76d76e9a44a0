import { ConfigurationError, ToolExecutionError } from '../src/messages/errors.ts'
import type { CompiledSchema } from '../src/tools/schema.ts'
import { defaultToolTimeoutMs, type Tool } from '../src/tools/tool.ts'
import { readAnswer, type WireSchema, wireSchemaOf } from '../src/tools/typedAnswer.ts'
import type { AgentMachineConfig } from './agentConfig.ts'
import { repeatEnds } from './interpreter/repeatEnds.ts'
import type { Orchestrator } from './orchestrator.ts'
import { createTypedOutputMachine } from './typedOutputMachine.ts'

export const returnResultName = 'return_result'

/**
 * How a model is made to answer in a shape.
 * - `native`: the API takes the schema.
 * - `twoPhases`: the API takes a schema or tools, not both: first a run with tools, then one with the schema.
 * - `returnResult`: the API takes no schema: a tool takes the answer as its arguments.
 */
export type TypedOutputStrategy = 'native' | 'twoPhases' | 'returnResult'

/** The strategy for an agent: what its model can do decides, and whether there are tools. */
export const strategyFor = ({ model, tools = [] }: AgentMachineConfig): TypedOutputStrategy => {
  const { nativeSchema, schemaWithTools } = model.profile
  if (!nativeSchema) return 'returnResult'
  return tools.length > 0 && !schemaWithTools ? 'twoPhases' : 'native'
}

/** The orchestrator of `sendFor`: chosen whenever a schema is asked for. */
export const typedOutputOrchestrator = (compiled: CompiledSchema<unknown>): Orchestrator => ({
  providerHint: 'typed-output',
  create: ({ config, lifecycle }) => {
    const { tools = [] } = config
    if (tools.some(({ name }) => name === returnResultName)) {
      throw new ConfigurationError(
        `A tool cannot be named "${returnResultName}" where typed output is asked for: rename it.`,
      )
    }
    const strategy = strategyFor(config)
    const schema = wireSchemaOf(compiled)
    const run =
      strategy === 'returnResult'
        ? lifecycle({
            tools: [...tools, returnResult(schema)],
            settings: { toolChoice: 'required', ...config.settings },
          })
        : lifecycle()
    return repeatEnds(
      createTypedOutputMachine({ strategy, schema, run, formatter: lifecycle({ tools: [] }) }),
    )
  },
})

/** Takes the answer as its arguments: checking them is all it does. A misfit is an error result, and the run goes on. */
const returnResult = (schema: WireSchema): Tool => ({
  name: returnResultName,
  description: 'Gives the final answer. Call it once, when everything needed is known.',
  inputSchema: schema.jsonSchema,
  validate: (value) => ({ ok: true, value }),
  execute: async (args) => {
    const answer = JSON.stringify(args)
    const { problem } = await readAnswer(answer, schema)
    if (problem !== '') throw new ToolExecutionError(`The answer does not fit the schema: ${problem}`)
    return answer
  },
  needsApproval: false,
  timeoutMs: defaultToolTimeoutMs,
  endsRun: true,
})
