export const number = (value) => {
  if (value === undefined) return '–'
  const size = Math.abs(value)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

export const ratio = (value) => (value === undefined ? '' : `${value.toFixed(2)}×`)

export const goalText = (goal, unit) => {
  if (!goal) return ''
  return goal.ratio === undefined ? `≤ ${goal.most} ${unit}` : `≤ ${goal.ratio}× ${goal.to}`
}

const verdict = ({ isMet }) => (isMet === undefined ? '' : isMet ? 'met' : 'MISSED')

/** The results as a table for a terminal. */
export const table = (results) => {
  const rows = results.flatMap(({ title, unit, goal, contenders }) =>
    contenders.map((one, index) => [
      index === 0 ? title : '',
      one.contender,
      one.failed ? '–' : `${number(one.value)} ${unit}`,
      ratio(one.ratio),
      ratio(one.toFloor),
      one.isMet === undefined ? '' : goalText(goal, unit),
      one.failed ?? verdict(one),
    ]),
  )
  const head = ['measure', 'contender', 'median', 'to reader', 'to floor', 'goal', '']
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  const line = (row) =>
    row
      .map((cell, column) => pad(cell, widths[column], column))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)].join('\n')
}

/** Alignment of the columns: figures are at the right. */
const pad = (cell, width, column) => (column >= 2 && column <= 4 ? cell.padStart(width) : cell.padEnd(width))
