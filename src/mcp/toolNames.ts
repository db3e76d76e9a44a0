/** The longest name that every provider takes. */
const longest = 64

const acceptable = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, longest)

/**
 * The names that models know a server's tools by: letters, digits, `_` and `-`, since providers take no others. A name
 * that was given once stays with its tool, so that a call that was approved never reaches another one.
 */
export class ToolNames {
  readonly #prefix: string
  readonly #given = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Names for all of these. What had to be changed, and is then the same as another, ends in a mark made of the original. */
  add(originals: readonly string[]): void {
    const fresh = originals.filter((each) => !this.#given.has(each))
    const wanted = fresh.map((each) => acceptable(this.#prefix + each))
    // Names that need no change come first: they keep the server's own names.
    for (const each of fresh) if (acceptable(this.#prefix + each) === this.#prefix + each) this.#give(each)
    const counts = new Map<string, number>()
    for (const name of wanted) counts.set(name, (counts.get(name) ?? 0) + 1)
    for (const each of fresh)
      if (!this.#given.has(each)) this.#give(each, counts.get(acceptable(this.#prefix + each)) === 1)
  }

  of(original: string): string {
    return this.#given.get(original) ?? acceptable(this.#prefix + original)
  }

  #give(original: string, isAlone = true): void {
    const plain = acceptable(this.#prefix + original)
    let name = plain
    for (let round = 0; this.#taken.has(name) || (name === plain && !isAlone); round += 1) {
      const mark = `_${hashOf(`${original}${round || ''}`)}`
      name = plain.slice(0, longest - mark.length) + mark
    }
    this.#given.set(original, name)
    this.#taken.add(name)
  }
}

/** FNV-1a: the same for the same name, in every process. */
const hashOf = (text: string): string => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
