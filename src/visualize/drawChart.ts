import type { ChartDescription } from './describeMachine.ts'
import { drawArrow, drawBox, drawMark } from './drawing.ts'
import type { Layout } from './layout.ts'
import { styleSheet } from './styleSheet.ts'
import type { SvgOptions } from './toSvg.ts'
import { escapeXml } from './xml.ts'

/** A chart whose places are known, as SVG. */
export const drawChart = (
  chart: ChartDescription,
  { width, height, boxes, marks, arrows }: Layout,
  { counts, title = chart.id, idPrefix = '' }: SvgOptions,
): string => {
  const [w, h] = [Math.ceil(width), Math.ceil(height)]
  const titleId = escapeXml(`${idPrefix}title`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="statechart" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-labelledby="${titleId}">`,
    `<title id="${titleId}">${escapeXml(title)}</title>`,
    `<style>${styleSheet}</style>`,
    ...boxes.map((box) => drawBox(box, counts)),
    ...marks.map(drawMark),
    ...arrows.map((arrow) => drawArrow(arrow, counts)),
    '</svg>',
    '',
  ].join('\n')
}
