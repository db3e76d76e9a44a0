import type { Point, Rect } from './layout.ts'

/** A path as SVG has it, with round corners, and with a gap for its own label. */
export const routeOf = (path: readonly Point[], label: Rect | null): string =>
  (label ? cut(path, label) : [path]).map(rounded).join('')

/** The tip of an arrow that ends with this path. */
export const headOf = (path: readonly Point[]): string => {
  const tip = path.at(-1)
  const before = path.at(-2)
  if (!tip || !before) return ''
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1
  const along = { x: (tip.x - before.x) / length, y: (tip.y - before.y) / length }
  const corner = (side: number) =>
    at({ x: tip.x - 7 * along.x - side * along.y, y: tip.y - 7 * along.y + side * along.x })
  return `M${at(tip)}L${corner(3.5)}L${corner(-3.5)}z`
}

export const round = (value: number): number => Math.round(value * 10) / 10

const at = ({ x, y }: Point): string => `${round(x)} ${round(y)}`

const rounded = (points: readonly Point[]): string =>
  points
    .map((point, index) => {
      const before = points[index - 1]
      const after = points[index + 1]
      if (!before) return `M${at(point)}`
      if (!after) return `L${at(point)}`
      return `L${at(towards(point, before))}Q${at(point)} ${at(towards(point, after))}`
    })
    .join('')

const radius = 6

const towards = (from: Point, to: Point): Point => {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const part = Math.min(radius, length / 2) / length
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
}

/** The pieces of a path that are outside a rectangle. */
const cut = (path: readonly Point[], rect: Rect): Point[][] => {
  const pieces: Point[][] = [path.slice(0, 1)]
  for (const [index, to] of path.entries()) {
    const from = path[index - 1]
    if (!from) continue
    const [enter, leave] = inside(from, to, rect)
    const between = (part: number) => ({
      x: from.x + (to.x - from.x) * part,
      y: from.y + (to.y - from.y) * part,
    })
    if (enter < leave) {
      pieces.at(-1)?.push(between(enter))
      pieces.push([between(leave)])
    }
    pieces.at(-1)?.push(to)
  }
  return pieces.filter((piece) => lengthOf(piece) > 1)
}

/** The part of a straight line that runs inside a rectangle, from 0 to 1; nothing where it ends before it begins. */
const inside = (from: Point, to: Point, { x, y, width, height }: Rect): [enter: number, leave: number] => {
  const within = (start: number, end: number, low: number, high: number): [number, number] => {
    if (start === end) return start > low && start < high ? [0, 1] : [1, 0]
    const [a, b] = [(low - start) / (end - start), (high - start) / (end - start)]
    return [Math.min(a, b), Math.max(a, b)]
  }
  const across = within(from.x, to.x, x, x + width)
  const down = within(from.y, to.y, y, y + height)
  return [Math.max(0, across[0], down[0]), Math.min(1, across[1], down[1])]
}

const lengthOf = (path: readonly Point[]): number =>
  path.reduce((sum, { x, y }, index) => {
    const before = path[index - 1]
    return before ? sum + Math.hypot(x - before.x, y - before.y) : sum
  }, 0)
