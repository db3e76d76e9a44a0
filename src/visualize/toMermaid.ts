import type { AnyStateMachine } from 'xstate'
import { arrowsOf, wordingOf } from './arrows.ts'
import {
  type ChartDescription,
  type ChartState,
  type ChartTransition,
  describeMachine,
} from './describeMachine.ts'
import { escapeLabel, mermaidIds } from './mermaidText.ts'

export type MermaidOptions = {
  /** Which way the chart grows; default down. */
  direction?: 'down' | 'right'
}

/**
 * Writes any XState machine as a Mermaid state diagram, which GitHub draws in Markdown.
 *
 * @example
 * console.log(toMermaid(agent.machine)) // 'stateDiagram-v2\n  direction TB\n  …'
 */
export const toMermaid = (machine: AnyStateMachine, { direction = 'down' }: MermaidOptions = {}): string => {
  const chart = describeMachine(machine)
  const ids = mermaidIds(chart)
  const edges = edgesOf(chart)
  const idOf = ({ state, isAny }: End) => `${isAny ? 'any_' : ''}${ids.get(state)}`
  const childrenOf = (id: string) => chart.states.filter(({ parent }) => parent === id)

  const inside = (outer: ChartState, indent: string): string[] => {
    const children = childrenOf(outer.id)
    const hasAny = edges.some(({ source }) => source.isAny && source.state === outer.id)
    const lines = [
      ...(hasAny ? [`state "any state" as ${idOf({ state: outer.id, isAny: true })}`] : []),
      ...children.flatMap((child, index) => [
        // Dashes set the regions of a parallel state apart.
        ...(outer.type === 'parallel' && index > 0 ? ['--'] : []),
        ...declaration(child),
      ]),
      ...children.filter(({ initial }) => initial).map(({ id }) => `[*] --> ${ids.get(id)}`),
      ...edgesIn(outer.id),
      ...children.filter(({ type }) => type === 'final').map(({ id }) => `${ids.get(id)} --> [*]`),
    ]
    return lines.map((line) => `${indent}${line}`)
  }
  const edgesIn = (block: string | null): string[] =>
    edges
      .filter((edge) => edge.block === block)
      .map(({ source, target, label }) => `${idOf(source)} --> ${idOf(target)}${label && ` : ${label}`}`)
  const declaration = (state: ChartState): string[] => {
    const id = ids.get(state.id)
    const name = state.type === 'history' ? (state.history === 'deep' ? 'H*' : 'H') : state.key
    const header = id === name ? [] : [`state "${escapeLabel(name)}" as ${id}`]
    if (childrenOf(state.id).length > 0) return [...header, `state ${id} {`, ...inside(state, '  '), '}']
    return id === name ? [name] : header
  }
  const [root] = chart.states
  if (!root) return ''
  // Only a state can have regions, not the diagram.
  const body = root.type === 'compound' ? inside(root, '') : declaration(root)
  const lines = [`direction ${direction === 'down' ? 'TB' : 'LR'}`, ...body, ...edgesIn(null)]
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`), ''].join('\n')
}

/** A state, or whichever state inside it is active. */
type End = { state: string; isAny: boolean }

type Edge = {
  /** The state inside which it is written; null for the top. */
  block: string | null
  source: End
  target: End
  label: string
}

const edgesOf = (chart: ChartDescription): Edge[] => {
  const isGroup = (id: string) => chart.states.some(({ parent }) => parent === id)
  const arrows = arrowsOf(chart).map(({ source, target, transitions, isFromWithin, isToAround }) => ({
    source: { state: source, isAny: isFromWithin },
    // Mermaid cannot draw an arrow from a state to the one around it: it ends where that one starts.
    target: { state: isToAround ? startOf(target, chart) : target, isAny: false },
    transitions,
  }))
  const loops = chart.transitions
    .filter(({ targets }) => targets.length === 0)
    .map((transition) => {
      const end = { state: transition.source, isAny: isGroup(transition.source) }
      return { source: end, target: end, transitions: [transition] }
    })
  // Mermaid keeps one label of several loops, so that all arrows between two states must be one.
  const merged = new Map<string, (typeof arrows)[number]>()
  for (const { source, target, transitions } of [...arrows, ...loops]) {
    const key = JSON.stringify([source, target])
    merged.set(key, {
      source,
      target,
      transitions: [...(merged.get(key)?.transitions ?? []), ...transitions],
    })
  }
  return [...merged.values()].map(({ source, target, transitions }) => ({
    source,
    target,
    block: blockOf(source, target, chart),
    label: labelOf(transitions, chart),
  }))
}

const labelOf = (transitions: readonly ChartTransition[], chart: ChartDescription): string =>
  transitions
    .map((each) => wordingOf(each, chart))
    .map(({ event, guard }) => [event, guard && `[${guard}]`].filter((word) => word !== '').join(' '))
    .filter((line) => line !== '')
    .map(escapeLabel)
    .join('<br/>')

/** A state that is named in the block of another moves into it, except at the top. */
const blockOf = (source: End, target: End, { states }: ChartDescription): string | null => {
  const around = ({ state, isAny }: End) =>
    isAny ? state : (states.find(({ id }) => id === state)?.parent ?? null)
  return around(source) === around(target) ? around(source) : null
}

const startOf = (id: string, { states }: ChartDescription): string =>
  states.find(({ parent, initial }) => parent === id && initial)?.id ?? id
