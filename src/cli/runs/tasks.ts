import type { RunInfo, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
import { oneLine, spanText } from '../terminalText.ts'

/** A background agent of a stored run, with its own. */
type TaskTree = RunInfo & { tasks: TaskTree[] }

/** The tasks of a stored run, which is read whole for them. A run that cannot be read has none to show: its entry says why. */
export const tasksOf = async (runs: Runs, id: string): Promise<TaskTree[]> => {
  try {
    const all = (await viewOf(runs)?.tasks(id)) ?? []
    return below(all, all[0]?.parent ?? id)
  } catch {
    return []
  }
}

const below = (all: readonly RunInfo[], parent: string): TaskTree[] =>
  all.filter((task) => task.parent === parent).map((task) => ({ ...task, tasks: below(all, task.id) }))

/** The status of a task as people read it. */
const taskStatus = ({ status, startedAt }: RunInfo): string =>
  status === 'running' && !startedAt ? 'queued' : status

/** The background agents of a run below it, as a tree. */
export const taskRows = (tasks: readonly TaskTree[], now: number, indent = ''): string[][] =>
  tasks.flatMap((task, index) => {
    const { callId = '', agent, state, step, createdAt, prompt, tasks: own } = task
    const isLast = index === tasks.length - 1
    const row = [
      `${indent}${isLast ? '└' : '├'} ${oneLine(callId)}`,
      oneLine(agent),
      taskStatus(task),
      oneLine(state) || '–',
      step === 0 ? '–' : String(step),
      spanText(now - createdAt.getTime()),
      oneLine(prompt),
    ]
    return [row, ...taskRows(own, now, `${indent}${isLast ? ' ' : '│'} `)]
  })
