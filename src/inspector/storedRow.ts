import { statePath } from '../../machines/agent/states.ts'
import { isJsonObject } from '../messages/json.ts'
import type { StoredRecord } from './StoredRecord.ts'
import type { ActorRow, ActorStatus } from './wire.ts'

const statuses = {
  running: 'active',
  waiting: 'waiting',
  complete: 'done',
  failed: 'failed',
  aborted: 'aborted',
  abandoned: 'abandoned',
} as const satisfies Record<StoredRecord['info']['status'], ActorStatus>

/** A stored run as a line of the tree. */
export const storedRow = ({
  id,
  info,
  isOver,
  attempts,
  canAsk,
  canRestart,
  from,
  snapshot,
}: StoredRecord): ActorRow => {
  const { error } = info
  const failure = isJsonObject(error) ? `${error.name}: ${error.message}`.slice(0, 1_000) : ''
  return {
    id,
    parent: null,
    name: info.agent,
    title: info.prompt || info.id,
    run: info.id,
    kind: 'agent',
    status: statuses[info.status],
    state: statePath(Object(snapshot).value) || info.state,
    createdAt: info.createdAt.getTime(),
    endedAt: isOver ? info.updatedAt.getTime() : null,
    reads: attempts.reduce((sum, { facts }) => sum + facts.chunks, 0),
    canAbort: !isOver,
    canAsk,
    canRestart,
    from: from?.id ?? null,
    failure,
  }
}
