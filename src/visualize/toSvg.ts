import { describeMachine } from './describeMachine.ts'
import { drawChart } from './drawChart.ts'
import { layOut } from './elk.ts'
import { layOutChart } from './layout.ts'
import type { Charted } from './transitions.ts'

/** Options of {@link toSvg}. */
export type SvgOptions = {
  /** How often each transition was taken, by name: as `TransitionCoverage` counts. Colours the arrows. */
  counts?: ReadonlyMap<string, number>
  /** What the picture is called. Default: the machine's id. */
  title?: string
  /** A prefix for every id in the picture, for pages that show several. */
  idPrefix?: string
}

/**
 * Draws any XState machine as an SVG without scripts, in light and dark (`data-theme` on the page decides between
 * them).
 *
 * A page that embeds it finds every state by `data-state` (its id) and every transition by `data-transition` (its name)
 * at the label; `data-transitions` at an arrow is the JSON list of all its transitions. The class `active` highlights
 * any of them.
 *
 * @example
 * await writeFile('agent.svg', await toSvg(agent.machine))
 */
export const toSvg = async (machine: Charted, options: SvgOptions = {}): Promise<string> => {
  const chart = describeMachine(machine)
  return drawChart(chart, await layOutChart(chart, { layOut, counts: options.counts }), options)
}
