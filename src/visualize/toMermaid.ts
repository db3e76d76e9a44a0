import { arrowsOf, wordingOf } from './arrows.ts'
import {
  type ChartDescription,
  type ChartState,
  type ChartTransition,
  describeMachine,
} from './describeMachine.ts'
import type { Charted } from './transitions.ts'

/** Options of {@link toMermaid}. */
export type MermaidOptions = {
  /** The direction in which the chart grows. Default: down. */
  direction?: 'down' | 'right'
  /** A way through the chart, drawn as numbered notes: each event, and the state after it. Default: none. */
  steps?: readonly { event: string; state: unknown }[]
}

/**
 * Writes any XState machine as a Mermaid state diagram, which GitHub draws in Markdown.
 *
 * @example
 * console.log(toMermaid(agent.machine)) // 'stateDiagram-v2\n  direction TB\n  …'
 */
export const toMermaid = (
  machine: Charted,
  { direction = 'down', steps = [] }: MermaidOptions = {},
): string => {
  const chart = describeMachine(machine)
  const ids = mermaidIds(chart)
  const edges = edgesOf(chart)
  const idOf = ({ state, isAny }: End) => `${isAny ? 'any_' : ''}${ids.get(state)}`
  const childrenOf = (id: string) => chart.states.filter(({ parent }) => parent === id)

  const edgesIn = (block: string | null): string[] =>
    edges
      .filter((edge) => edge.block === block)
      .map(({ source, target, label }) => `${idOf(source)} --> ${idOf(target)}${label && ` : ${label}`}`)

  /** A state with the events that it handles without being left. */
  const box = (end: End, name: string): string[] => {
    const id = idOf(end)
    const own = chart.transitions.filter(
      ({ source, targets }) => source === end.state && targets.length === 0,
    )
    const lines = own.map((each) => `${id} : ${textOf(each, chart)}`)
    return id === name && lines.length === 0 ? [id] : [`state "${escapeLabel(name)}" as ${id}`, ...lines]
  }

  const inside = (group: ChartState): string[] => {
    const children = childrenOf(group.id)
    const any = box({ state: group.id, isAny: true }, 'any state')
    const isAnyUsed = any.length > 1 || edges.some(({ source }) => source.isAny && source.state === group.id)
    return [
      ...(isAnyUsed ? any : []),
      ...children.flatMap((child, index) => [
        // Dashes set the regions of a parallel state apart.
        ...(group.type === 'parallel' && index > 0 ? ['--'] : []),
        ...declaration(child),
      ]),
      ...children.filter(({ initial }) => initial).map(({ id }) => `[*] --> ${ids.get(id)}`),
      ...edgesIn(group.id),
      ...children.filter(({ type }) => type === 'final').map(({ id }) => `${ids.get(id)} --> [*]`),
    ]
  }

  const declaration = (state: ChartState): string[] => {
    const id = ids.get(state.id)
    const name = state.type === 'history' ? (state.history === 'deep' ? 'H*' : 'H') : state.key
    if (childrenOf(state.id).length === 0) return box({ state: state.id, isAny: false }, name)
    const header = id === name ? [] : [`state "${escapeLabel(name)}" as ${id}`]
    return [...header, `state ${id} {`, ...inside(state).map((line) => `  ${line}`), '}']
  }

  const [root] = chart.states
  if (!root) return ''
  // Only a state can have regions, not the diagram.
  const body = root.type === 'compound' ? inside(root) : declaration(root)
  const notes = [...notesOf(steps, root.id, chart)].map(
    ([id, texts]) => `note right of ${ids.get(id)} : ${texts.map(escapeLabel).join('<br/>')}`,
  )
  const lines = [`direction ${direction === 'down' ? 'TB' : 'LR'}`, ...body, ...edgesIn(null), ...notes]
  return ['stateDiagram-v2', ...lines.map((line) => `  ${line}`), ''].join('\n')
}

/** The steps of a way, by the states to which they lead: those that were not active before, or the first if all were. */
const notesOf = (
  steps: NonNullable<MermaidOptions['steps']>,
  root: string,
  { states }: ChartDescription,
): ReadonlyMap<string, string[]> => {
  const notes = new Map<string, string[]>()
  const leaves = (id: string, value: unknown): string[] => {
    const inner = Object.entries(typeof value === 'string' ? { [value]: {} } : Object(value))
    if (inner.length === 0) return [id]
    return inner.flatMap(([name, below]) => {
      const child = states.find(({ parent, key }) => parent === id && key === name)
      return child ? leaves(child.id, below) : []
    })
  }
  const startsIn = (id: string): string[] => {
    const children = states.filter(({ parent, type }) => parent === id && type !== 'history')
    const isParallel = states.some((each) => each.id === id && each.type === 'parallel')
    const inner = children.filter(({ initial }) => isParallel || initial)
    return inner.length === 0 ? [id] : inner.flatMap((child) => startsIn(child.id))
  }
  let before = startsIn(root)
  for (const [index, { event, state }] of steps.entries()) {
    const after = leaves(root, state)
    const entered = after.filter((id) => !before.includes(id))
    for (const id of entered.length > 0 ? entered : after.slice(0, 1))
      notes.set(id, [...(notes.get(id) ?? []), `${index + 1}. ${event}`])
    before = after
  }
  return notes
}

/** A state, or the state inside it that is active. */
type End = { state: string; isAny: boolean }

type Edge = {
  /** The state inside which it is written; null for the top. */
  block: string | null
  source: End
  target: End
  label: string
}

const edgesOf = (chart: ChartDescription): Edge[] => {
  const merged = new Map<string, { source: End; target: End; lines: string[] }>()
  for (const arrow of arrowsOf(chart)) {
    const source = { state: arrow.source, isAny: arrow.isFromWithin }
    // Mermaid cannot draw an arrow from a state to the one around it: it ends where that one starts.
    const target = { state: arrow.isToAround ? startOf(arrow.target, chart) : arrow.target, isAny: false }
    const key = JSON.stringify([source, target])
    const lines = arrow.transitions.map((each) => textOf(each, chart)).filter((line) => line !== '')
    // Two loops at one state would lose a label.
    merged.set(key, { source, target, lines: [...(merged.get(key)?.lines ?? []), ...lines] })
  }
  return [...merged.values()].map(({ source, target, lines }) => ({
    source,
    target,
    block: blockOf(source, target, chart),
    label: lines.join('<br/>'),
  }))
}

const textOf = (transition: ChartTransition, chart: ChartDescription): string => {
  const { event, guard } = wordingOf(transition, chart)
  return escapeLabel([event, guard && `[${guard}]`].filter((word) => word !== '').join(' '))
}

/** A state that is named in the block of another moves into it, except at the top. */
const blockOf = (source: End, target: End, { states }: ChartDescription): string | null => {
  const around = ({ state, isAny }: End) =>
    isAny ? state : (states.find(({ id }) => id === state)?.parent ?? null)
  return around(source) === around(target) ? around(source) : null
}

const startOf = (id: string, { states }: ChartDescription): string =>
  states.find(({ parent, initial }) => parent === id && initial)?.id ?? id

/** Names of states that Mermaid cannot read, beside the names of members that every object has. */
const reserved = new Set(
  'accdescr acctitle as class classdef click default direction end hide href note root scale state statediagram style'.split(
    ' ',
  ),
)

/** A name for every state that Mermaid can read: its key where that is a plain word and the only one. */
const mermaidIds = ({ states }: ChartDescription): ReadonlyMap<string, string> => {
  const taken = new Set<string>()
  return new Map(
    states.map(({ id, key }) => {
      const isOnly = states.filter((each) => each.key === key).length === 1
      const base = isPlain(key) && isOnly ? key : `s_${id.replace(/\W+/g, '_')}`
      let name = base
      for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${base}_${count}`
      taken.add(name.toLowerCase())
      return [id, name]
    }),
  )
}

/** `any_` begins the names for any state of a group. */
const isPlain = (key: string): boolean =>
  /^(?!any_)[a-z]\w*$/i.test(key) && !reserved.has(key.toLowerCase()) && !(key in {})

/** A text without syntax of Mermaid: all but letters, digits and harmless signs become entity codes. */
const escapeLabel = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[^\p{L}\p{N} _.,()[\]!?/+=-]/gu, (char) => `#${char.codePointAt(0)};`)
