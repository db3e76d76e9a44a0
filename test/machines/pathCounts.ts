import { allCharts } from './charts.ts'
import { walkChart } from './walk.ts'

/** How often the path tests take each transition: by the id of the chart, then by the name of the transition. */
export const pathCounts = (charts = allCharts): Map<string, ReadonlyMap<string, number>> =>
  new Map(charts.map((chart) => [chart.id, walkChart(chart).coverage.counts]))
