import { describe, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { describeMachine, toSvg } from '../../src/visualize/index.ts'
import { editor, foreignMachines, hostile, light, nothing, player } from './foreignMachines.ts'
import { gallery } from './gallery.ts'
import { allOf, type Element, readXml } from './xmlReader.ts'

const machines = [...gallery.map(({ machine }) => machine), ...foreignMachines]

const classesOf = ({ attributes }: Element) => (attributes.get('class') ?? '').split(' ')

const withAttribute = (svg: string, name: string) =>
  allOf(readXml(svg)).filter(({ attributes }) => attributes.has(name))

const stateOf = (svg: string, id: string) =>
  withAttribute(svg, 'data-state').find(({ attributes }) => attributes.get('data-state') === id)

const namesOf = (edge: Element): string[] => JSON.parse(edge.attributes.get('data-transitions') ?? '[]')

const wordsOf = ({ name, text, children }: Element): string =>
  name === 'title' ? '' : [text, ...children.map(wordsOf)].filter((word) => word !== '').join(' ')

describe('the SVG of any machine', () => {
  test.each(machines.map((machine) => [machine.id, machine] as const))(
    'is well-formed, and has every state and every transition of %s once',
    async (_, machine) => {
      const svg = await toSvg(machine)
      const chart = describeMachine(machine)
      const states = withAttribute(svg, 'data-state').map(({ attributes }) => attributes.get('data-state'))
      expect(states.sort()).toEqual(chart.states.map(({ id }) => id).sort())

      const names = chart.transitions.map(({ name }) => name)
      const arrows = withAttribute(svg, 'data-transitions').flatMap(namesOf)
      expect([...new Set(arrows)].sort()).toEqual(names.toSorted())
      // One that leads to several states has an arrow to each, but one label.
      const ends = chart.transitions.reduce((sum, { targets }) => sum + Math.max(1, targets.length), 0)
      expect(arrows).toHaveLength(ends)

      const labels = withAttribute(svg, 'data-transition').map(({ attributes }) =>
        attributes.get('data-transition'),
      )
      expect(new Set(labels).size).toBe(labels.length)
      const silent = names.filter((name) => !labels.includes(name))
      for (const name of silent) expect(name).toMatch(/ always$/)
    },
  )

  test('is the same each time', async () => {
    expect(await toSvg(player)).toBe(await toSvg(player))
  })

  test('has no script, no link to elsewhere, and no markup from names and descriptions', async () => {
    const svg = await toSvg(hostile, { title: '</title><script>1</script>', idPrefix: '"><b ' })
    const elements = allOf(readXml(svg))
    const allowed = ['svg', 'title', 'style', 'g', 'rect', 'text', 'tspan', 'path', 'circle']
    expect(elements.filter(({ name }) => !allowed.includes(name))).toEqual([])
    const attributes = elements.flatMap((element) => [...element.attributes.keys()])
    expect(attributes.filter((name) => /^on|href|src/.test(name))).toEqual([])
    expect(elements.find(({ name }) => name === 'title')?.text).toBe('</title><script>1</script>')
    expect(stateOf(svg, hostile.root.states['</title><svg onload="x()">']?.id ?? '')).toBeDefined()
    expect(svg).not.toMatch(/<script|<image|onload="|\]\]>|\0|\p{Cs}/u)
  })

  test('marks groups, regions, ends and history by class', async () => {
    const svg = await toSvg(player)
    expect(classesOf(stateOf(svg, 'player.playing') ?? readXml(svg))).toEqual(['state', 'compound', 'group'])
    expect(classesOf(stateOf(svg, 'player.broken') ?? readXml(svg))).toEqual(['state', 'final'])
    expect(wordsOf(stateOf(svg, 'player.playing.deepest') ?? readXml(svg))).toContain('H*')
    const regions = await toSvg(editor)
    expect(classesOf(stateOf(regions, 'editor.list') ?? readXml(regions))).toContain('region')
  })

  test('shows children in the state, and the rest in a tooltip', async () => {
    const loading = stateOf(await toSvg(player), 'player.loading')
    expect(loading && wordsOf(loading)).toContain('load')
    expect(loading?.children.find(({ name }) => name === 'title')?.text).toBe(
      'Fetches the track.\ntags: busy, network\ninvokes load',
    )
  })

  test('writes an event, its guard in brackets, and `else` for the last alternative', async () => {
    const machine = createMachine({
      id: 'words',
      initial: 'a',
      states: {
        a: { always: [{ guard: 'isReady', target: 'b' }, { target: 'c' }] },
        b: { always: 'c' },
        c: {},
      },
    })
    const labels = withAttribute(await toSvg(machine), 'data-transition').map(wordsOf)
    expect(labels).toEqual(['[isReady]', '[else]'])
    const [timer] = withAttribute(await toSvg(light), 'data-transition').filter(
      ({ attributes }) =>
        attributes.get('data-transition') === 'light.yellow on xstate.after.500.light.yellow',
    )
    expect(timer && wordsOf(timer)).toBe('after 500 ms [isWorkday]')
  })

  test('draws a machine without states', async () => {
    expect(stateOf(await toSvg(nothing), 'nothing')).toBeDefined()
  })

  test('has the title and the id prefix that are given', async () => {
    const svg = readXml(await toSvg(nothing, { title: 'Empty & bare', idPrefix: 'first-' }))
    expect(svg.attributes.get('aria-labelledby')).toBe('first-title')
    expect(svg.children[0]).toMatchObject({ name: 'title', text: 'Empty & bare' })
    expect(svg.children[0]?.attributes.get('id')).toBe('first-title')
  })
})

describe('the SVG with counts', () => {
  const counts = new Map([
    ['light.green on xstate.after.1000.light.green', 7],
    ['light.red.walk on COUNT', 40],
    ['light.red.walk on xstate.after.90000.light.red.walk', 0],
  ])
  const colours = async () => {
    const svg = await toSvg(light, { counts })
    const arrows = withAttribute(svg, 'data-transitions')
    const labels = withAttribute(svg, 'data-transition')
    return {
      arrow: (name: string) => classesOf(arrows.find((edge) => namesOf(edge).includes(name)) ?? readXml(svg)),
      label: (name: string) => labels.find(({ attributes }) => attributes.get('data-transition') === name),
    }
  }

  test('writes the counts, and gives arrows and labels a class for them', async () => {
    const { arrow, label } = await colours()
    const green = label('light.green on xstate.after.1000.light.green')
    expect(green && wordsOf(green)).toBe('after 1 s ×7')
    expect(green && classesOf(green)).toEqual(['label', 'taken-1'])
    expect(arrow('light.green on xstate.after.1000.light.green')).toEqual(['edge', 'taken-1'])
  })

  test('warns of a transition that was never taken, even beside one that was', async () => {
    const { arrow, label } = await colours()
    const never = label('light.red.walk on xstate.after.90000.light.red.walk')
    expect(never && classesOf(never)).toEqual(['label', 'taken-0'])
    expect(arrow('light.red.walk on COUNT')).toEqual(['edge', 'taken-2'])
    expect(arrow('light.red.wait on COUNT')).toEqual(['edge', 'taken-0'])
  })

  test('labels even a transition without an event', async () => {
    const machine = createMachine({ id: 'w', initial: 'a', states: { a: { always: 'b' }, b: {} } })
    const svg = await toSvg(machine, { counts: new Map() })
    expect(withAttribute(svg, 'data-transition').map(wordsOf)).toEqual(['×0'])
  })
})
