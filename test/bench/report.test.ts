import { describe, expect, it } from 'vitest'

// Plain JavaScript, which has no types.
const bench = (file: string) => import(new URL(`../../bench/${file}`, import.meta.url).href)
const { isOldFor } = await bench('peers/index.mjs')
const { comparison } = await bench('report/comparison.mjs')
const { goalTable } = await bench('report/goals.mjs')
const { summarize } = await bench('statistics.mjs')

const runs = {
  floor: [{ cpu: 2 }, { cpu: 2 }, { cpu: 9 }],
  reader: [{ cpu: 4 }, { cpu: 4 }, { cpu: 1 }],
  statewire: [{ cpu: 5 }, { cpu: 5 }, { cpu: 5 }],
  'statewire-orchestrated': [{ cpu: 6 }],
  peer: [{ cpu: 12 }],
  broken: [{ failed: 'no' }],
}

const measured = (goal?: object, of: Partial<typeof runs> = runs) => {
  const values = { cpu: { unit: 'µs', goal } }
  return summarize({ id: 'chunk/bulk/openai-chat', title: 'a chunk', values }, of)
}

const verdicts = (goal: object, of?: Partial<typeof runs>) =>
  measured(goal, of).flatMap(({ contenders }: { contenders: { contender: string; isMet?: boolean }[] }) =>
    contenders.flatMap(({ contender, isMet }) => (isMet === undefined ? [] : [[contender, isMet]])),
  )

describe('figures', () => {
  it('are compared with the reader, and with the floor beside it', () => {
    const [{ contenders }] = measured()
    expect(contenders[2]).toMatchObject({ contender: 'statewire', value: 5, ratio: 1.25, toFloor: 2.5 })
    expect(contenders[4]).toMatchObject({ contender: 'peer', ratio: 3, toFloor: 6 })
    expect(contenders[5]).toEqual({ contender: 'broken', failed: 'no' })
  })

  it('are judged by what their goal is a ratio to, and only those the goal is of', () => {
    expect(verdicts({ ratio: 2, to: 'reader', of: ['statewire'] })).toEqual([['statewire', true]])
    expect(verdicts({ ratio: 2, to: 'floor', of: ['statewire'] })).toEqual([['statewire', false]])
    expect(verdicts({ ratio: 1.3, to: 'reader' })).toEqual([
      ['statewire', true],
      ['statewire-orchestrated', false],
    ])
  })

  it('are not judged without the one they are compared with', () => {
    expect(verdicts({ ratio: 2, to: 'reader' }, { statewire: runs.statewire })).toEqual([])
  })
})

describe('the tables', () => {
  const missed = measured({ ratio: 1.1, to: 'reader', of: ['statewire'] })
  const met = measured({ ratio: 1.3, to: 'reader', of: ['statewire'] })

  it('say in words what is missed', () => {
    expect(comparison(missed, { peer: '1.2.3', broken: '1.0.0' })).toEqual([
      '|  | a chunk, bulk |',
      '| --- | ---: |',
      '| **statewire** | 1.25× (missed) |',
      '| its goal | ≤ 1.1× |',
      '| reader | 1.00× |',
      '| floor | 0.50× |',
      '| peer 1.2.3 | 3.00× |',
      '| broken 1.0.0 | failed |',
    ])
    expect(goalTable(missed, 'v24.0.0')).toContain('Missed: a chunk, bulk.')
    expect(goalTable(met, 'v24.0.0')).toContain('None of these is missed.')
  })

  it('say when the figures are not of the Node that the goals are for', () => {
    const other = 'The goals are for Node 24; these figures are of Node v20.1.0.'
    expect(goalTable(met, 'v20.1.0')).toContain(other)
    expect(goalTable(met, 'v24.1.0')).not.toContain(other)
  })
})

describe('a peer', () => {
  it.each([
    ['>=22', 'v20.20.2', true],
    ['>=22', 'v22.0.0', false],
    ['>= 22.13.0', 'v22.12.9', true],
    ['>=22.13.0', 'v22.13.0', false],
    ['>=22.13.0', 'v24.0.0', false],
    ['>=9.9.9', 'v10.0.0', false],
    // Another way to say it: tried, and reported if it fails.
    ['^20.20.0 || >=22.22.0', 'v18.0.0', false],
    [undefined, 'v18.0.0', false],
  ])('that needs Node %s is left out on %s: %s', (range, version, isLeftOut) => {
    expect(isOldFor(range, version)).toBe(isLeftOut)
  })
})
