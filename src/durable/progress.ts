import type { Actor } from 'xstate'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { outcomeOf } from '../agent/runOutcome.ts'
import { describeThrown, type ErrorData, OrchestrationError } from '../messages/errors.ts'
import type { RunStatus } from './runs.ts'
import type { Items } from './sqlite/Items.ts'
import { pack } from './sqlite/pack.ts'
import type { Progress } from './sqlite/RunRows.ts'
import { isResting, stateName, stepsIn, usageIn } from './standing.ts'

/** The state of a run, as it is stored. What is new joins its items. */
export const progressOf = (
  id: string,
  actor: Actor<AgentMachine>,
  items: Items,
  counted: Pick<Progress, 'recoveries' | 'hidden'>,
): Progress => {
  const snapshot = actor.getSnapshot()
  const { status, error } = endOf(snapshot)
  const pending = pendingIn(snapshot)
  return {
    status: status ?? (pending.length > 0 && isResting(snapshot) ? 'waiting' : 'running'),
    live: true,
    ...counted,
    step: stepsIn(snapshot),
    state: stateName(snapshot),
    usage: usageIn(snapshot),
    pending,
    error,
    head: packed(id, actor, items),
  }
}

const packed = (id: string, actor: Actor<AgentMachine>, items: Items): string => {
  try {
    return pack({ snapshot: actor.getPersistedSnapshot() }, items)
  } catch (cause) {
    throw new OrchestrationError(`The run "${id}" cannot be stored: ${describeThrown(cause)}`, { cause })
  }
}

const endOf = ({
  status,
  output,
}: {
  status: string
  output?: unknown
}): { status?: RunStatus; error?: ErrorData } => {
  if (status !== 'done') return {}
  if (!outcomeOf(output)) return { status: 'failed', error: noOutput }
  const end = output as { status: 'complete' | 'failed' | 'aborted'; error?: ErrorData }
  return { status: end.status, ...(end.error && { error: end.error }) }
}

const noOutput: ErrorData = {
  name: 'OrchestrationError',
  message: 'The machine of the run ended without an AgentOutput.',
}
