// @ts-check

/** @import { ChartDescription, ChartState, ChartTransition } from '../../visualize/index.ts' */

/** A chart with more states than this has those inside others as lines in their boxes. */
const mostBoxes = 12
const inner = 'inner state '

/**
 * The chart without its words: where it may go from each state, small enough to be read at once.
 *
 * @param {ChartDescription} chart
 * @returns {ChartDescription}
 */
export const outlineOf = (chart) => {
  const parents = new Map(chart.states.map(({ id, parent }) => [id, parent]))
  const root = chart.states[0]?.id ?? ''
  const isFolded = chart.states.length > mostBoxes && chart.states[0]?.type === 'compound'
  /** The state right below the machine that a state is in. @param {string} id @returns {string} */
  const top = (id) => {
    const parent = parents.get(id)
    return !isFolded || parent === null || parent === undefined || parent === root ? id : top(parent)
  }
  const isBox = (/** @type {ChartState} */ { id }) => top(id) === id
  const folded = chart.states.filter((state) => !isBox(state))
  return {
    ...chart,
    states: chart.states.filter(isBox).map((state) => ({
      ...state,
      invokes: [],
      type: isFolded && state.id !== root && state.type === 'compound' ? 'atomic' : state.type,
    })),
    transitions: [
      ...folded.map(({ id, key }) => rowOf(id, key, top(id))),
      ...chart.transitions.flatMap((transition) => {
        const source = top(transition.source)
        const targets = transition.targets.map(top).filter((target) => !isFolded || target !== source)
        return targets.length > 0 ? [{ ...transition, source, targets, label: '', guard: '' }] : []
      }),
    ],
  }
}

/** A state inside another one, as a line of its box. @param {string} id @param {string} key @param {string} source @returns {ChartTransition} */
const rowOf = (id, key, source) => ({
  name: `${inner}${id}`,
  source,
  targets: [],
  event: key,
  label: key,
  actions: [],
  kind: 'internal',
})

/** The state that a line of a box stands for; empty for any other line. @param {string} name */
export const innerOf = (name) => (name.startsWith(inner) ? name.slice(inner.length) : '')
