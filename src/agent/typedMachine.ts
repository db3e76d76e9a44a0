import type {
  AnyActorRef,
  AnyMachineSnapshot,
  MachineSnapshot,
  MetaObject,
  StateSchema,
  StateValue,
} from 'xstate'
import type { AgentCommand, AgentInput, AgentOutput } from '../../machines/agent/events.ts'
import type { AnyRunMachine, RunMachine } from '../../machines/logic/wrapLogic.ts'
import type { PhasedRun } from '../../machines/orchestrators/phasedRun.ts'
import { validatedAnswer } from '../../machines/orchestrators/typedOutput.ts'
import { describeThrown } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import { isThenable } from '../tools/isThenable.ts'
import type { CompiledSchema, Validation } from '../tools/schema.ts'

/** The machine of runs that answer with a value of a schema; see `Agent.machineFor`. */
export type TypedMachine<T, Deps = unknown> = RunMachine<
  MachineSnapshot<
    PhasedRun,
    AgentCommand,
    Record<string, AnyActorRef | undefined>,
    StateValue,
    'streaming' | 'waiting',
    AgentOutput<T>,
    MetaObject,
    StateSchema
  >,
  AgentCommand,
  AgentInput<Deps>
>

/**
 * The members of a machine whose complete output is the value that a schema makes of the answer. The chart keeps and
 * stores the answer as JSON text, since the value need not be JSON.
 */
export const valueOutput =
  (schema: CompiledSchema<unknown>, outputSchema: JsonObject) =>
  (inner: AnyRunMachine): Partial<AnyRunMachine> => {
    /** The snapshots as the chart made them, by those that have the value. */
    const stored = new WeakMap<AnyMachineSnapshot, AnyMachineSnapshot>()
    const withValue = (snapshot: AnyMachineSnapshot, self: AnyActorRef): AnyMachineSnapshot => {
      const { status, output } = snapshot
      if (status !== 'done' || output?.status !== 'complete') return snapshot
      const done = { ...snapshot, output: typedOutput(output, self, schema) }
      const shown: AnyMachineSnapshot = Object.setPrototypeOf(done, Object.getPrototypeOf(snapshot))
      stored.set(shown, snapshot)
      return shown
    }
    return {
      getInitialSnapshot: (scope, input) =>
        withValue(inner.getInitialSnapshot(scope, { ...Object(input), outputSchema }), scope.self),
      transition: (snapshot, event, scope) =>
        withValue(inner.transition(stored.get(snapshot) ?? snapshot, event, scope), scope.self),
      restoreSnapshot: (snapshot, scope) => withValue(inner.restoreSnapshot(snapshot, scope), scope.self),
      getPersistedSnapshot: (snapshot, options) =>
        inner.getPersistedSnapshot(stored.get(snapshot) ?? snapshot, options),
    }
  }

/** The output with the value, or a failed one. */
const typedOutput = (
  output: AgentOutput,
  self: AnyActorRef,
  schema: CompiledSchema<unknown>,
): AgentOutput<unknown> => {
  const found = validatedAnswer(self, output.output) ?? checked(output.output, schema)
  if (!('problem' in found)) return { ...output, status: 'complete', output: found.value }
  const error = {
    name: 'OutputValidationError' as const,
    message: `The answer does not fit the schema: ${found.problem}`,
    rawOutput: output.output,
  }
  return { ...output, status: 'failed', finishReason: 'error', error }
}

/**
 * The value of an answer that no phase of the chart has checked: from a user's orchestrator, or from a run that was
 * over.
 */
const checked = (text: string, schema: CompiledSchema<unknown>): Validation<unknown> => {
  try {
    const validation = schema.validate(JSON.parse(text))
    if (!isThenable(validation)) return validation
    Promise.resolve(validation).catch(() => {})
    return {
      ok: false,
      problem:
        'the schema validates asynchronously, and the answer of this run must be validated synchronously.',
    }
  } catch (thrown) {
    return { ok: false, problem: describeThrown(thrown) }
  }
}
