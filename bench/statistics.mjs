export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Medians of one case: per contender and value, with the ratio to the floor and whether the goal is met. */
export const summarize = ({ id, title, values }, runs) =>
  Object.entries(values).map(([key, { unit, goal, name }]) => {
    const floor = medianOf(runs.floor, key)
    const contenders = Object.entries(runs).map(([contender, results]) => {
      const failed = results.find((result) => result.failed)?.failed
      if (failed !== undefined) return { contender, failed }
      const value = medianOf(results, key)
      if (value === undefined) return { contender, failed: 'not measured' }
      // A limit is a limit: only what has none is compared.
      const ratio = floor && goal?.most === undefined ? value / floor : undefined
      const all = results.map((result) => result[key])
      return { contender, value, ratio, all, ...verdict(contender, { value, ratio }, goal) }
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

/** Goals are ours: nobody else is judged by them. */
const verdict = (contender, { value, ratio }, goal) => {
  if (!goal || !contender.startsWith('statewire')) return {}
  if (goal.ratio !== undefined) return { isMet: ratio <= goal.ratio }
  return { isMet: value <= goal.most }
}
