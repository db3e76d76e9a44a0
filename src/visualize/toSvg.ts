import { describeMachine } from './describeMachine.ts'
import { drawArrow, drawBox, drawMark } from './drawing.ts'
import { layOutChart } from './layout.ts'
import { styleSheet } from './styleSheet.ts'
import type { Charted } from './transitions.ts'
import { escapeXml } from './xml.ts'

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
  const { counts, idPrefix = '' } = options
  const chart = describeMachine(machine)
  const { width, height, boxes, marks, arrows } = await layOutChart(chart, counts)
  const [w, h] = [Math.ceil(width), Math.ceil(height)]
  const titleId = escapeXml(`${idPrefix}title`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="statechart" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-labelledby="${titleId}">`,
    `<title id="${titleId}">${escapeXml(options.title ?? chart.id)}</title>`,
    `<style>${styleSheet}</style>`,
    ...boxes.map((box) => drawBox(box, counts)),
    ...marks.map(drawMark),
    ...arrows.map((arrow) => drawArrow(arrow, counts)),
    '</svg>',
    '',
  ].join('\n')
}
