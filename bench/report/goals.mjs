import { row } from './comparison.mjs'
import { goalText, number, ratio } from './table.mjs'

/** The goals are for this version of Node. */
const goalsFor = 24

/** The goals of statewire, by the ids of the measures. */
const stated = [
  ['chunk/bulk/openai-chat', 'a chunk, bulk'],
  ['chunk/paced/openai-chat', 'a chunk, paced'],
  ['request/openai-chat', 'a short request'],
  ['tools/openai-chat', 'a tool round of 4 calls'],
  ['streams/cpu', '200 streams at once, a chunk'],
  ['firstToken/later', 'the first text, later than at the reader'],
  ['page/size', 'page bundle, one provider'],
  ['edge/size', 'edge bundle, all providers'],
]

const verdicts = { true: 'met', false: '**missed**', undefined: 'not measured' }

/** The goals beside what was measured, and in words which of them are missed. */
export const goalTable = (results, node) => {
  const rows = stated.flatMap(([id, title]) => {
    const result = results.find((each) => each.id === id)
    const own = result?.contenders.find(({ contender }) => contender === 'statewire')
    if (!own) return []
    const { goal, unit } = result
    const isRatio = goal.ratio !== undefined
    const shown = isRatio ? ratio(own.ratio) : `${number(own.value)} ${unit}`
    const failed = own.failed && `failed: ${own.failed}`
    return [
      {
        title,
        isMissed: own.isMet === false,
        cells: [
          title,
          goalText(goal, unit),
          failed ?? shown,
          ratio(own.toFloor),
          failed ? '' : verdicts[own.isMet],
        ],
      },
    ]
  })
  if (rows.length === 0) return []
  const missed = rows.filter(({ isMissed }) => isMissed).map(({ title }) => title)
  return [
    row(['goal', 'at most', 'measured', 'to the floor', '']),
    row(['---', '---', '---:', '---:', '---']),
    ...rows.map(({ cells }) => row(cells)),
    '',
    missed.length > 0 ? `Missed: ${missed.join('; ')}.` : 'None of these is missed.',
    ...(node.startsWith(`v${goalsFor}.`)
      ? []
      : ['', `The goals are for Node ${goalsFor}; these figures are of Node ${node}.`]),
    '',
  ]
}
