import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk.bundled.js'
import { type Arrow, arrowsOf, backwardArrows } from './arrows.ts'
import {
  type Box,
  boxesOf,
  type Counts,
  gap,
  type Line,
  labelSize,
  lineHeight,
  lineOf,
  padding,
  textWidth,
} from './boxes.ts'
import type { ChartDescription } from './describeMachine.ts'

export type Point = { x: number; y: number }
export type Rect = Point & { width: number; height: number }
/** A box with its place. `headX` is where the words in the head of a group begin. */
export type PlacedBox = Box & Rect & { headX: number }
/** The start of a group, or the place for any state inside it. */
export type Mark = Rect & { kind: 'initial' | 'any' }
/** A line with its place. Without an arrow it is the line from the start of a group to its initial state. */
export type PlacedArrow = { arrow: Arrow | null; lines: Line[]; path: Point[]; label: Rect | null }
export type Layout = {
  width: number
  height: number
  boxes: PlacedBox[]
  marks: Mark[]
  arrows: PlacedArrow[]
}

/** Options of a layout. `layOut` places a graph: in this process, or in a worker of a page. */
export type LayoutOptions = {
  layOut: (graph: ElkNode) => Promise<ElkNode>
  counts?: Counts | undefined
  /** The direction in which the chart grows. */
  direction?: 'DOWN' | 'RIGHT'
  /** Leaves less room between arrows, for a chart without labels. */
  isTight?: boolean
}

export const anyText = 'any state'

const margin = 8

const spacing: Record<string, string> = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.spacing.nodeNode': '20',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeNodeBetweenLayers': '10',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '10',
}

const tightSpacing: Record<string, string> = {
  'elk.spacing.nodeNode': '16',
  'elk.spacing.edgeNode': '10',
  'elk.spacing.edgeEdge': '7',
  'elk.layered.spacing.edgeNodeBetweenLayers': '9',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '6',
}

/** The position of everything: states inside each other, arrows around them, and labels that cover nothing. */
export const layOutChart = async (
  chart: ChartDescription,
  { layOut, counts, direction = 'DOWN', isTight = false }: LayoutOptions,
): Promise<Layout> => {
  const options = { ...spacing, ...(isTight && tightSpacing), 'elk.direction': direction }
  const root = boxesOf(chart, counts)
  const arrows = arrowsOf(chart)
  const backward = backwardArrows(chart, arrows)
  const drawn = arrows.map((arrow) => ({
    arrow,
    lines: arrow.isRepeated ? [] : arrow.transitions.map((each) => lineOf(each, chart, counts)),
    isBackward: backward.has(arrow),
  }))
  const groupsWithAny = new Set(arrows.filter(({ isFromWithin }) => isFromWithin).map(({ source }) => source))
  const page = await layOut({
    id: 'page',
    layoutOptions: {
      ...options,
      'elk.padding': `[top=${margin},left=${margin},bottom=${margin},right=${margin}]`,
    },
    children: [nodeOf(root, groupsWithAny, options)],
    edges: [...initialEdges(root), ...drawn.map(edgeOf)],
  })

  const nodes = new Map(flatten(page).map((node) => [node.id, node]))
  const placed = (page.edges ?? []).map((edge) => {
    const { arrow = null, lines = [], isBackward = false } = drawn[Number(edge.id)] ?? {}
    const path = pathOf(edge)
    return { arrow, lines, path: isBackward ? path.reverse() : path, label: labelOf(edge) }
  })
  return {
    width: page.width ?? 0,
    height: page.height ?? 0,
    boxes: flatten(root).map((box) => {
      const rect = rectOf(nodes.get(`state ${box.state.id}`))
      return { ...box, ...rect, headX: headOf(box, rect, placed) }
    }),
    marks: [...nodes.values()].flatMap((node) => {
      const kind = (['initial', 'any'] as const).find((each) => node.id.startsWith(`${each} `))
      return kind ? [{ kind, ...rectOf(node) }] : []
    }),
    arrows: placed,
  }
}

const nodeOf = (
  { state, width, height, children }: Box,
  groupsWithAny: ReadonlySet<string>,
  options: Record<string, string>,
): ElkNode => {
  const id = `state ${state.id}`
  if (children.length === 0) return { id, width, height }
  const hasInitial = children.some((child) => child.state.initial)
  const anyWidth = textWidth(anyText, labelSize) + 20
  return {
    id,
    layoutOptions: {
      ...options,
      'elk.padding': `[top=${height + 10},left=16,bottom=16,right=16]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width},${height})`,
    },
    children: [
      ...(hasInitial ? [{ id: `initial ${state.id}`, width: 10, height: 10 }] : []),
      ...(groupsWithAny.has(state.id) ? [{ id: `any ${state.id}`, width: anyWidth, height: 20 }] : []),
      ...children.map((child) => nodeOf(child, groupsWithAny, options)),
    ],
  }
}

const initialEdges = ({ state, children }: Box): ElkExtendedEdge[] =>
  children.flatMap((child) => [
    ...(child.state.initial
      ? [
          {
            id: `to ${child.state.id}`,
            sources: [`initial ${state.id}`],
            targets: [`state ${child.state.id}`],
          },
        ]
      : []),
    ...initialEdges(child),
  ])

type DrawnArrow = { arrow: Arrow; lines: Line[]; isBackward: boolean }

const edgeOf = ({ arrow, lines, isBackward }: DrawnArrow, index: number): ElkExtendedEdge => {
  const source = `${arrow.isFromWithin ? 'any' : 'state'} ${arrow.source}`
  const ends = [source, `state ${arrow.target}`]
  const [from = '', to = ''] = isBackward ? ends.toReversed() : ends
  const width = Math.max(0, ...lines.map((line) => line.width))
  const label = {
    text: ' ',
    width: width + 8,
    height: lines.length * lineHeight + 4,
    layoutOptions: {
      'elk.edgeLabels.inline': 'true',
      // Near the state that is left.
      'elk.layered.edgeLabels.centerLabelPlacementStrategy': isBackward ? 'HEAD_LAYER' : 'TAIL_LAYER',
    },
  }
  return { id: `${index}`, sources: [from], targets: [to], labels: width > 0 ? [label] : [] }
}

/** Arrows into a group run through its head: its words go to the first free place. */
const headOf = (box: Box, { x, y, width }: Rect, arrows: readonly PlacedArrow[]): number => {
  const needed = Math.max(box.titleWidth + box.pillsWidth + 2 * gap, ...box.lines.map((line) => line.width))
  const taken = arrows.flatMap(({ path }) =>
    path.slice(1).flatMap((to, index) => {
      const from = path[index] ?? to
      const isInHead = Math.min(from.y, to.y) < y + box.height && Math.max(from.y, to.y) > y
      return isInHead ? [{ left: Math.min(from.x, to.x), right: Math.max(from.x, to.x) }] : []
    }),
  )
  const isFree = (start: number) =>
    start + needed <= x + width &&
    taken.every(({ left, right }) => right < start - gap || left > start + needed + gap)
  const starts = taken.map(({ right }) => right + padding).filter((start) => start > x + padding)
  return [x + padding, ...starts.sort((a, b) => a - b)].find(isFree) ?? x + padding
}

const flatten = <T extends { children?: T[] }>(node: T): T[] => [
  node,
  ...(node.children ?? []).flatMap(flatten),
]

const rectOf = ({ x = 0, y = 0, width = 0, height = 0 }: Partial<Rect> = {}): Rect => ({
  x,
  y,
  width,
  height,
})

const labelOf = ({ labels: [label] = [] }: ElkExtendedEdge): Rect | null => (label ? rectOf(label) : null)

const pathOf = ({ sections = [] }: ElkExtendedEdge): Point[] =>
  sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])
