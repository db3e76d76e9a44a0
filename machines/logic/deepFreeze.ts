/** For parts that all charts of a process share: whoever changes one by mistake must not change the others. */
export const shared = <const T extends object>(parts: T): T => {
  for (const each of Object.values(parts)) if (typeof each === 'object' && each !== null) shared(each)
  return Object.freeze(parts)
}
