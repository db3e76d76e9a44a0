import { describe, expect, test } from 'vitest'
import type { AnyStateMachine } from 'xstate'
import { describeMachine } from '../../src/visualize/index.ts'
import { layOutChart } from '../../src/visualize/layout.ts'
import { foreignMachines } from './foreignMachines.ts'
import { gallery } from './gallery.ts'
import { holds, problemsOf, solidsOf } from './problemsOf.ts'

// A picture is readable when nothing stands on anything else.

describe.each([...gallery.map(({ machine }) => machine), ...foreignMachines].map((machine): [string, AnyStateMachine] => [machine.id, machine]))(
  'the picture of %s',
  (_, machine) => {
    test('has no box, label or arrow on top of another', async () => {
      const layout = await layOutChart(describeMachine(machine), undefined)
      expect(problemsOf(layout)).toEqual([])
    })

    test('still has none when every arrow carries a count', async () => {
      const chart = describeMachine(machine)
      const counts = new Map(chart.transitions.map(({ name }, index) => [name, index * 1000]))
      expect(problemsOf(await layOutChart(chart, counts))).toEqual([])
    })

    test('fits into itself', async () => {
      const layout = await layOutChart(describeMachine(machine), undefined)
      const page = { x: 0, y: 0, width: layout.width, height: layout.height }
      for (const { name, rect } of solidsOf(layout)) expect([name, holds(page, rect)]).toEqual([name, true])
    })
  },
)
