// What the page draws charts with: built into page/drawing.js, because a browser reads no TypeScript.
import type { ChartDescription } from '../visualize/describeMachine.ts'
import { drawChart } from '../visualize/drawChart.ts'
import { type LayoutOptions, layOutChart } from '../visualize/layout.ts'

/** A machine as SVG; `layOut` does the work, in a worker of the page. */
export const drawingOf = async (
  chart: ChartDescription,
  options: Pick<LayoutOptions, 'layOut' | 'direction' | 'isTight'>,
): Promise<string> => drawChart(chart, await layOutChart(chart, options), { idPrefix: 'chart-' })
