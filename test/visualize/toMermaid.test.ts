import { describe, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { toMermaid } from '../../src/visualize/index.ts'
import { editor, hostile, nothing, player } from './foreignMachines.ts'

const door = createMachine({
  id: 'door',
  initial: 'shut',
  on: { BREAK: '.broken', LOOK: { actions: 'look' } },
  states: {
    shut: {
      on: {
        OPEN: [{ guard: 'isUnlocked', target: 'open' }, { actions: 'rattle' }],
        KNOCK: { actions: 'say' },
      },
    },
    open: {
      initial: 'moving',
      states: {
        moving: { after: { 1000: 'still' } },
        still: { on: { SWING: { target: '#door.open', reenter: true }, SLAM: '#door.shut' } },
      },
      on: { SHUT: 'shut', AGAIN: { target: 'open', reenter: true } },
    },
    broken: { type: 'final' },
  },
})

describe('Mermaid text', () => {
  test('has nested states, starts and ends, guards, and what is handled without leaving', () => {
    expect(toMermaid(door)).toBe(`stateDiagram-v2
  direction TB
  state "any state" as any_door
  any_door : LOOK
  state "shut" as shut
  shut : OPEN
  shut : KNOCK
  state open {
    moving
    still
    [*] --> moving
    moving --> still : after 1 s
    still --> moving : SWING
  }
  broken
  [*] --> shut
  any_door --> broken : BREAK
  shut --> open : OPEN [isUnlocked]
  open --> shut : SHUT
  open --> open : AGAIN
  broken --> [*]
  still --> shut : SLAM
`)
  })

  test('grows to the right when asked', () => {
    expect(toMermaid(door, { direction: 'right' })).toContain('\n  direction LR\n')
  })

  test('sets regions apart, inside a state even when they are the whole machine', () => {
    const text = toMermaid(editor)
    expect(text).toMatch(/^ {2}state editor \{\n {4}state "any state" as any_editor\n/m)
    expect(text).toMatch(/^ {4}--$/m)
    expect(text).toContain('\n  any_editor --> plain : RESET\n')
  })

  test('draws a way as notes at the states that each step enters', () => {
    const machine = createMachine({
      id: 'two',
      type: 'parallel',
      states: {
        light: { initial: 'off', states: { off: { on: { ON: 'on' } }, on: {} } },
        door: { initial: 'shut', states: { shut: { on: { OPEN: 'open' } }, open: {} } },
      },
    })
    const steps = [
      { event: 'ON', state: { light: 'on', door: 'shut' } },
      { event: 'OPEN: "x"', state: { light: 'on', door: 'open' } },
      { event: 'ON', state: { light: 'on', door: 'open' } },
    ]
    expect(toMermaid(machine, { steps }).match(/note .*/g)).toEqual([
      'note right of on : 1. ON<br/>3. ON',
      'note right of open : 2. OPEN#58; #34;x#34;',
    ])
    const before = toMermaid(machine)
    expect(toMermaid(machine, { steps })).toContain(before.trimEnd())
  })

  test('makes one loop of several, because Mermaid would lose a label', () => {
    const machine = createMachine({
      id: 'loops',
      initial: 'a',
      states: {
        a: { on: { X: { target: 'a', reenter: true }, Y: { target: 'a', guard: 'ok', reenter: true } } },
      },
    })
    expect(toMermaid(machine).match(/a --> a.*/g)).toEqual(['a --> a : X<br/>Y [ok]'])
  })

  test('shows history states as H and H*', () => {
    expect(toMermaid(player)).toContain('state "H" as last\n    state "H#42;" as deepest\n')
  })

  test('draws a machine without states', () => {
    expect(toMermaid(nothing)).toBe('stateDiagram-v2\n  direction TB\n  nothing\n')
  })

  test('escapes names and labels that look like syntax', () => {
    const lines = toMermaid(hostile).split('\n').slice(2, -1)
    for (const line of lines) {
      expect(line).toMatch(
        /^ {2}(state "[\p{L}\p{N}#;/=() ]+" as \w+|(\[\*\]|\w+) --> (\[\*\]|\w+)( : [\p{L}\p{N}#;[\] -]+)?)$/u,
      )
    }
    expect(lines.join('\n')).not.toMatch(/<(?!br\/>)|"x|%%|: y/)
  })

  test('never uses a word of Mermaid, or of every object, as the name of a state', () => {
    const keys = [
      'state',
      'note',
      'END',
      'class',
      'default',
      'root',
      'constructor',
      'any_words',
      '1',
      'a b',
      'fine',
    ]
    const machine = createMachine({
      id: 'words',
      initial: 'fine',
      states: Object.fromEntries(keys.map((key) => [key, {}])),
    })
    expect(
      toMermaid(machine)
        .match(/^ {2}(state ".*|\w+)$/gm)
        ?.map((line) => line.trim())
        .sort(),
    ).toEqual(
      [
        'fine',
        'state "1" as s_words_1',
        'state "END" as s_words_END',
        'state "a b" as s_words_a_b',
        'state "any_words" as s_words_any_words',
        'state "class" as s_words_class',
        'state "constructor" as s_words_constructor',
        'state "default" as s_words_default',
        'state "note" as s_words_note',
        'state "root" as s_words_root',
        'state "state" as s_words_state',
      ].sort(),
    )
  })

  test('gives states of the same key different names', () => {
    const machine = createMachine({
      id: 'twins',
      initial: 'a',
      states: {
        a: { initial: 'x', states: { x: {} } },
        b: { initial: 'x', states: { x: { on: { GO: '#twins.a.x' } } } },
      },
    })
    expect(toMermaid(machine)).toContain('s_twins_b_x --> s_twins_a_x : GO')
  })
})
