import type { ELK, ElkNode } from 'elkjs/lib/elk.bundled.js'
import { describeMachine } from './describeMachine.ts'
import { drawChart, type SvgOptions } from './drawing.ts'
import type { Charted } from './transitions.ts'

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
export const toSvg = (machine: Charted, options: SvgOptions = {}): Promise<string> =>
  drawChart(describeMachine(machine), { ...options, layOut })

let elk: Promise<ELK> | undefined

/** Lays a graph out. The layout engine is large, so it is loaded with the first picture; the build puts it beside this code. */
export const layOut = async (graph: ElkNode): Promise<ElkNode> => {
  elk ??= import('elkjs/lib/elk.bundled.js').then(({ default: Elk }) => new Elk())
  return (await elk).layout(graph)
}
