import type { Actor } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import { stateName } from '../../../machines/agent/states.ts'
import { dueIn, openIn } from '../../../machines/tools/pendingCalls.ts'
import { outcomeOf } from '../../agent/runOutcome.ts'
import { describeThrown, type ErrorData, OrchestrationError } from '../../messages/errors.ts'
import type { RunStatus } from '../runs.ts'
import { isResting, stepsIn, usageIn } from '../snapshots.ts'
import type { Items } from './Items.ts'
import { pack } from './pack.ts'
import type { Checkpoint } from './runRow.ts'

/** The state of a run's actor, as it is stored. New messages join the items of the run. */
export const checkpointOf = (
  id: string,
  actor: Actor<AgentMachine>,
  items: Items,
  counted: Pick<Checkpoint, 'recoveries' | 'hidden'>,
): Checkpoint => {
  const snapshot = actor.getSnapshot()
  const { status, error } = endOf(snapshot)
  const pending = openIn(snapshot)
  const due = dueIn(snapshot)
  const waits = status === undefined && (pending.length > 0 || due !== undefined) && isResting(snapshot)
  return {
    status: status ?? (waits ? 'waiting' : 'running'),
    isUnsettled: true,
    due: waits ? due : undefined,
    ...counted,
    step: stepsIn(snapshot),
    state: stateName(snapshot.value),
    usage: usageIn(snapshot),
    pending,
    error,
    packedSnapshot: packed(id, actor, items),
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
