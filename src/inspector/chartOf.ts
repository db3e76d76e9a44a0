import { type Charted, describeMachine, toSvg } from '../visualize/index.ts'

const mostCharts = 100

/** By structure: every `new Agent` makes a machine of its own, and drawing one takes a while. */
const drawn = new Map<string, Promise<string>>()

/** The picture of a machine. Machines of the same structure share one. */
export const chartOf = (machine: Charted): Promise<string> => {
  const structure = JSON.stringify(describeMachine(machine))
  const picture = drawn.get(structure) ?? toSvg(machine, { idPrefix: 'chart-' })
  drawn.delete(structure)
  drawn.set(structure, picture)
  const [oldest] = drawn.keys()
  if (drawn.size > mostCharts && oldest !== undefined) drawn.delete(oldest)
  return picture
}
