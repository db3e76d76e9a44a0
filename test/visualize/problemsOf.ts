import type { Layout, PlacedBox, Point, Rect } from '../../src/visualize/layout.ts'

const overlap = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

export const holds = (outer: Rect, inner: Rect): boolean =>
  outer.x <= inner.x &&
  outer.y <= inner.y &&
  outer.x + outer.width >= inner.x + inner.width &&
  outer.y + outer.height >= inner.y + inner.height

const shrunk = ({ x, y, width, height }: Rect, by: number): Rect => ({
  x: x + by,
  y: y + by,
  width: width - 2 * by,
  height: height - 2 * by,
})

const segments = (path: readonly Point[]): Rect[] =>
  path.slice(1).map((to, index) => {
    const from = path[index] ?? to
    return {
      x: Math.min(from.x, to.x),
      y: Math.min(from.y, to.y),
      width: Math.abs(from.x - to.x),
      height: Math.abs(from.y - to.y),
    }
  })

const pairs = <T>(list: readonly T[]): [T, T][] =>
  list.flatMap((a, index) => list.slice(index + 1).map((b): [T, T] => [a, b]))

/** Everything that takes room: small boxes, marks, labels, and the words in the heads of groups. */
export const solidsOf = ({ boxes, marks, arrows }: Layout): { name: string; rect: Rect }[] => [
  ...boxes.filter(({ children }) => children.length === 0).map((box) => ({ name: box.state.id, rect: box })),
  ...marks.map((mark) => ({ name: mark.kind, rect: mark })),
  ...arrows.flatMap(({ arrow, label }) =>
    label ? [{ name: `label of ${arrow?.transitions[0]?.name}`, rect: label }] : [],
  ),
  ...boxes
    .filter(({ children }) => children.length > 0)
    .map((box) => ({
      name: `head of ${box.state.id}`,
      rect: {
        x: box.headX,
        y: box.y + 4,
        width: box.titleWidth + box.pillsWidth,
        height: 20,
      },
    })),
]

/** Everything that overlaps something else, as sentences. */
export const problemsOf = (layout: Layout): string[] => {
  const { boxes, arrows } = layout
  const solids = solidsOf(layout)
  const isInside = (inner: PlacedBox, outer: PlacedBox) => inner.state.id.startsWith(`${outer.state.id}.`)
  const isWrong = (a: PlacedBox, b: PlacedBox) =>
    isInside(a, b) ? !holds(b, a) : isInside(b, a) ? !holds(a, b) : overlap(a, b)
  return [
    ...pairs(boxes)
      .filter(([a, b]) => isWrong(a, b))
      .map(([a, b]) => `${a.state.id} overlaps ${b.state.id}`),
    ...pairs(solids)
      .filter(([a, b]) => overlap(a.rect, b.rect))
      .map(([a, b]) => `${a.name} covers ${b.name}`),
    ...arrows.flatMap(({ arrow, path, label }) =>
      solids
        .filter(({ rect }) => !(label && holds(rect, label)))
        .filter(({ rect }) => segments(path).some((segment) => overlap(segment, shrunk(rect, 1))))
        .map(({ name }) => `${arrow?.transitions[0]?.name ?? 'an initial arrow'} runs through ${name}`),
    ),
  ]
}
