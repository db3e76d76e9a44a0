import type { AnyStateMachine } from 'xstate'
import { type StoredCheck, withStoredCheck } from '../stored/version.ts'
import { chartLogic, type FastPath, type StepAround } from './chartLogic.ts'
import { type StepReport, supervise } from './supervise.ts'
import { type AnyRunMachine, isChart } from './wrapLogic.ts'

/** The parts that our own charts have and a user's chart need not have. */
type RunMachineOptions = {
  fastPath?: FastPath
  stored?: StoredCheck
  /** The context is plain JSON. Default: false. */
  hasJsonContext?: boolean
  /** The parent gets what the run emits, and whether it waits. Default: false. */
  reportsToParent?: boolean
  /** Reports to a user's machine above the run. Default: none. */
  report?: StepReport
  /** Is around each step of the chart: agents that share it have their own configuration there. Default: nothing is. */
  inStep?: StepAround
  /** Wraps the chart itself: a policy answers the questions of its run. Default: nothing does. */
  around?: (chart: AnyRunMachine) => AnyRunMachine
}

/** The machine of a chart: everything that is around a chart is put around it here, from the inside out. */
export const runMachine = (
  chart: AnyStateMachine,
  {
    fastPath,
    stored,
    hasJsonContext = false,
    reportsToParent = false,
    report,
    inStep,
    around,
  }: RunMachineOptions = {},
): AnyRunMachine => {
  // XState interprets the chart; the reads of a running answer, of which there are thousands, take the fast path.
  const interpreted = chartLogic(chart, fastPath, hasJsonContext, inStep)
  const logic = around ? around(interpreted) : interpreted
  // A snapshot that cannot be continued is refused, and one of an older release migrated, before the chart sees it.
  const checked = stored ? withStoredCheck(logic, stored) : logic
  // Every step is stored before it takes effect, children never outlive the chart, and the parent gets its reports.
  return supervise(checked, reportsToParent, report)
}

/** The machine of a user's chart: the charts that it is made of, if they have a name, are stored like the chart itself. */
export const runMachineOf = (chart: AnyStateMachine, options: RunMachineOptions = {}): AnyRunMachine => {
  const named: readonly (readonly [string, object])[] = Object.entries(chart.implementations.actors)
  const charts = named.flatMap(([name, logic]) => (isChart(logic) ? [[name, runMachineOf(logic)]] : []))
  return runMachine(
    charts.length === 0 ? chart : chart.provide({ actors: Object.fromEntries(charts) }),
    options,
  )
}
