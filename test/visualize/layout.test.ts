import { describe, expect, test } from 'vitest'
import type { AnyStateMachine } from 'xstate'
import { describeMachine } from '../../src/visualize/index.ts'
import { layOutChart, type Rect } from '../../src/visualize/layout.ts'
import { layOut } from '../../src/visualize/toSvg.ts'
import { foreignMachines, light } from './foreignMachines.ts'
import { gallery } from './gallery.ts'
import { holds, problemsOf, solidsOf } from './problemsOf.ts'
import { randomMachine } from './randomMachine.ts'

// A picture is readable when nothing overlaps anything else.

describe.each(
  [...gallery.map(({ machine }) => machine), ...foreignMachines].map((machine): [string, AnyStateMachine] => [
    machine.id,
    machine,
  ]),
)('the picture of %s', (_, machine) => {
  test('has no box, label or arrow on top of another, and all inside', async () => {
    const layout = await layOutChart(describeMachine(machine), { layOut })
    expect(problemsOf(layout)).toEqual([])
    const page = { x: 0, y: 0, width: layout.width, height: layout.height }
    expect(solidsOf(layout).filter(({ rect }) => !holds(page, rect))).toEqual([])
  }, 180_000)

  test('has no overlap when it grows to the right', async () => {
    const layout = await layOutChart(describeMachine(machine), { layOut, direction: 'RIGHT' })
    // Arrows into a group come from its side: they may pass its title.
    expect(problemsOf(layout).filter((problem) => !problem.includes('head of'))).toEqual([])
  }, 180_000)

  test('has no overlap when every arrow carries a count', async () => {
    const chart = describeMachine(machine)
    const counts = new Map(chart.transitions.map(({ name }, index) => [name, index * 1000]))
    expect(problemsOf(await layOutChart(chart, { layOut, counts }))).toEqual([])
  }, 180_000)
})

test('a label on a box, a box on a box and an arrow through a label would be noticed', async () => {
  const layout = await layOutChart(describeMachine(light), { layOut })
  const [arrow] = layout.arrows.filter(({ label }) => label)
  const [, green, yellow] = layout.boxes
  if (!arrow?.label || !green || !yellow) throw new Error('The picture is not as expected.')
  const moved = (x: number, y: number) => ({
    ...layout,
    arrows: layout.arrows.map((each) =>
      each === arrow ? { ...each, label: { ...each.label, x, y } as Rect } : each,
    ),
  })
  expect(problemsOf(moved(green.x, green.y)).join()).toContain('covers')
  expect(problemsOf(moved(yellow.x + yellow.width / 2 - 5, yellow.y - 15)).join()).toContain('runs through')
  const stacked = layout.boxes.map((box) =>
    box === green ? { ...box, x: yellow.x + 5, y: yellow.y + 5 } : box,
  )
  expect(problemsOf({ ...layout, boxes: stacked }).join()).toContain('light.green overlaps light.yellow')
})

test('stays readable for random machines', async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const problems = problemsOf(await layOutChart(describeMachine(randomMachine(seed)), { layOut }))
    // An arrow may have to pass the title of a group that is too narrow for both.
    expect([seed, problems.filter((problem) => !problem.includes('head of'))]).toEqual([seed, []])
  }
}, 120_000)
