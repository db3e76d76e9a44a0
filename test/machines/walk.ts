import type { AnyActor, AnyStateMachine } from 'xstate'
import type { AnyRunMachine } from '../../machines/logic/wrapLogic.ts'
import { type MachinePath, planPaths, replayPath, withPuppets } from '../../src/testing/paths.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import type { TestedChart } from './charts.ts'

export type PathStep = {
  /** The place of the variant in the list. */
  variant: number
  /** The machine that users get, around the chart that is walked. */
  machine: AnyRunMachine
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
  { variants, options }: TestedChart,
  onStep?: (step: PathStep) => void,
  every = 1,
): { coverage: TransitionCoverage; paths: number } => {
  const puppets = variants.map(({ chart, machine }, variant) => ({
    variant,
    chart: withPuppets(chart),
    machine: withPuppets(machine),
  }))
  const [first] = puppets
  if (!first) throw new Error('A chart needs a machine.')
  const coverage = new TransitionCoverage(first.chart)
  const all = puppets.flatMap((each) => planPaths(each.chart, options).map((path) => ({ ...each, path })))
  let paths = 0
  for (let turn = 0; turn < every && coverage.missing.length > 0; turn += 1) {
    for (let at = turn; at < all.length; at += every) {
      const { chart, machine, variant, path } = all[at] as (typeof all)[number]
      paths += 1
      replayPath(chart, path, {
        ...(options.from && { from: options.from }),
        inspect: coverage.inspect,
        onStep: (actor, index) => onStep?.({ variant, machine, path, actor, index }),
      }).stop()
    }
  }
  return { coverage, paths }
}
