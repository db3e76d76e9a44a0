export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Medians of one case: per contender and value, with its `ratio` to the reader and that to the floor (`toFloor`), and
 * whether the goal is met.
 */
export const summarize = ({ id, title, values }, runs) =>
  Object.entries(values).map(([key, { unit, goal, name }]) => {
    // A limit is a limit: only what has none is compared.
    const isCompared = goal?.most === undefined
    const reader = isCompared ? medianOf(runs.reader, key) : undefined
    const floor = isCompared ? medianOf(runs.floor, key) : undefined
    const contenders = Object.entries(runs).map(([contender, results]) => {
      const failed = results.find((result) => result.failed)?.failed
      if (failed !== undefined) return { contender, failed }
      const value = medianOf(results, key)
      if (value === undefined) return { contender, failed: 'not measured' }
      const compared = { ratio: quotient(value, reader), toFloor: quotient(value, floor) }
      const all = results.map((result) => result[key])
      return { contender, value, ...compared, all, ...verdict(contender, { value, ...compared }, goal) }
    })
    return {
      id: Object.keys(values).length > 1 ? `${id}/${key}` : id,
      title: name ? `${title}: ${name}` : title,
      unit,
      goal,
      contenders,
    }
  })

const medianOf = (results = [], key) => {
  const numbers = results.map((result) => result[key]).filter((value) => typeof value === 'number')
  return numbers.length > 0 ? median(numbers) : undefined
}

/** Without the other there is nothing to compare with. */
const quotient = (value, other) => (other ? value / other : undefined)

/** Goals are ours: other libraries are not judged by them. */
const verdict = (contender, { value, ratio, toFloor }, goal) => {
  if (!goal || !(goal.of?.includes(contender) ?? contender.startsWith('statewire'))) return {}
  if (goal.most !== undefined) return { isMet: value <= goal.most }
  const judged = goal.to === 'floor' ? toFloor : ratio
  return judged === undefined ? {} : { isMet: judged <= goal.ratio }
}
