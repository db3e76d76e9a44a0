/** Freezes parts that all charts of a process share: a change made to one by mistake would change all the others. */
export const deepFreeze = <const T extends object>(parts: T): T => {
  for (const each of Object.values(parts)) if (typeof each === 'object' && each !== null) deepFreeze(each)
  return Object.freeze(parts)
}
