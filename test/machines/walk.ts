import type { AnyActor, AnyStateMachine } from 'xstate'
import { type MachinePath, planPaths, replayPath } from '../../src/testing/paths.ts'
import { withPuppets } from '../../src/testing/puppets.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import type { TestedChart } from './charts.ts'

export type PathStep = {
  machine: AnyStateMachine
  path: MachinePath<AnyStateMachine>
  actor: AnyActor
  /** How many events the actor has had. */
  index: number
}

/** Walks every path of a chart's graph with a real actor and counts its transitions. The same each time. */
export const walkChart = (
  { machines, options }: TestedChart,
  onStep?: (step: PathStep) => void,
): { coverage: TransitionCoverage; paths: number } => {
  const variants = machines.map(withPuppets)
  const [first] = variants
  if (!first) throw new Error('A chart needs a machine.')
  const coverage = new TransitionCoverage(first)
  let paths = 0
  for (const machine of variants) {
    for (const path of planPaths(machine, options)) {
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
