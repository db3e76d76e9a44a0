/** Replaces ids that were made up by `#1`, `#2` and so on, in the order in which they first appear. */
export const numberedIds = <Value>(value: Value): Value => {
  const numbers = new Map<string, string>()
  const numbered = JSON.stringify(value).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    numbers.set(id, numbers.get(id) ?? `#${numbers.size + 1}`)
    return numbers.get(id) ?? ''
  })
  return JSON.parse(numbered)
}
