import { describe, expect, it } from 'vitest'
import { ThinkSplitter } from '../../../providers/openai-chat/thinkSplitter.ts'

/** The deltas of each piece, and of the end: `t:` for thinking, the rest is text. */
const split = (isOpened: boolean, pieces: string[]): string[][] => {
  const splitter = new ThinkSplitter(isOpened)
  const deltas = [...pieces.map((piece) => splitter.split(piece)), splitter.flush(), splitter.flush()]
  return deltas.map((each) =>
    each.map((delta) => {
      if (delta.type === 'thinking') return `t:${delta.text}`
      return delta.type === 'text' ? delta.text : `${delta.type}?`
    }),
  )
}

describe('each piece gives what is certain', () => {
  it.each<[string[], string[][]]>([
    [['<think>a</think>b'], [['t:a', 'b']]],
    [
      ['<think>', 'a', '</think>', 'b'],
      [[], ['t:a'], [], ['b']],
    ],
    [
      ['<think></think>', 'b'],
      [[], ['b']],
    ],
    [
      ['<think>a</think>', ' \n', ' b', ' c'],
      [['t:a'], [], ['b'], [' c']],
    ],
    [['<think>a</think> \n'], [['t:a']]],
    [
      ['<think>a<', '/think>b'],
      [['t:a'], ['b']],
    ],
    [
      ['<think>a</think', '>b'],
      [['t:a'], ['b']],
    ],
    [
      ['<think>a</thin', 'g>b</think>'],
      [['t:a'], ['t:</thing>b']],
    ],
    [
      ['<think>a<<', '</think>b'],
      [['t:a<'], ['t:<', 'b']],
    ],
    [
      ['<think>a</think>b</think>', '<think>c'],
      [['t:a', 'b</think>'], ['<think>c']],
    ],
    [
      ['<', 'think>a'],
      [[], ['t:a']],
    ],
    [
      ['<think', 'er>a'],
      [[], ['<thinker>a']],
    ],
    [[' \n<think>a'], [['t:a']]],
    [
      [' ', '', 'a', ''],
      [[], [], [' a'], []],
    ],
    [['a<think>b</think>'], [['a<think>b</think>']]],
  ])('%j', (pieces, expected) => {
    expect(split(false, pieces)).toStrictEqual([...expected, [], []])
  })
})

describe('where the template has opened the tag', () => {
  it.each<[string[], string[][]]>([
    [['a</think>b'], [['t:a', 'b']]],
    [
      [' a', '</think>', 'b'],
      [['t: a'], [], ['b']],
    ],
    [['<think>a</think>b'], [['t:a', 'b']]],
    [
      ['<thing>', '</think>b'],
      [['t:<thing>'], ['b']],
    ],
  ])('%j', (pieces, expected) => {
    expect(split(true, pieces)).toStrictEqual([...expected, [], []])
  })
})

describe('what was held back is given at the end, once', () => {
  it.each<[boolean, string[], string[][]]>([
    [false, ['<thi'], [[], ['<thi']]],
    [false, [' \n'], [[], [' \n']]],
    [true, ['<thi'], [[], ['t:<thi']]],
    [false, ['<think>a</th'], [['t:a'], ['t:</th']]],
    [true, ['a</th'], [['t:a'], ['t:</th']]],
    [true, ['a</think>', ' '], [['t:a'], [], []]],
  ])('opened: %s, %j', (isOpened, pieces, expected) => {
    expect(split(isOpened, pieces)).toStrictEqual([...expected, []])
  })
})

it.each([
  [64, true],
  [65, false],
])('blanks before the tag are held back up to 64: %d', (length, isHeld) => {
  const blanks = ' '.repeat(length)
  expect(split(false, [blanks, '<think>a'])).toStrictEqual(
    isHeld ? [[], ['t:a'], [], []] : [[blanks], ['<think>a'], [], []],
  )
  expect(split(false, [`${blanks}<think`, '>a'])).toStrictEqual(
    isHeld ? [[], ['t:a'], [], []] : [[`${blanks}<think`], ['>a'], [], []],
  )
})
