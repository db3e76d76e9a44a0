import type { AnyActor, AnyStateMachine } from 'xstate'
import { type MachinePath, planPaths, replayPath, withPuppets } from '../../src/testing/paths.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import type { TestedChart } from './charts.ts'

export type PathStep = {
  machine: AnyStateMachine
  path: MachinePath<AnyStateMachine>
  actor: AnyActor
  /** How many events the actor has had. */
  index: number
}

/**
 * Walks every path of a chart's graph with a real actor and counts its transitions, the same each time. With `every`, each nth
 * path; if a transition was not taken on them, those after them, until every one was.
 */
export const walkChart = (
  { machines, options }: TestedChart,
  onStep?: (step: PathStep) => void,
  every = 1,
): { coverage: TransitionCoverage; paths: number } => {
  const variants = machines.map(withPuppets)
  const [first] = variants
  if (!first) throw new Error('A chart needs a machine.')
  const coverage = new TransitionCoverage(first)
  const all = variants.flatMap((machine) => planPaths(machine, options).map((path) => ({ machine, path })))
  let paths = 0
  for (let turn = 0; turn < every && coverage.missing.length > 0; turn += 1) {
    for (let at = turn; at < all.length; at += every) {
      const { machine, path } = all[at] as (typeof all)[number]
      paths += 1
      replayPath(machine, path, {
        ...(options.from && { from: options.from }),
        inspect: coverage.inspect,
        onStep: (actor, index) => onStep?.({ machine, path, actor, index }),
      }).stop()
    }
  }
  return { coverage, paths }
}
