/**
 * Collects a JSON document that a server wrote line by line into a stream of events, without their frame: Google's errors
 * come like that. Each character is looked at once.
 */
export class BareJson {
  #lines: string[] = []
  #size = 0
  #depth = 0

  get size(): number {
    return this.#size
  }

  /** Takes a line, and gives the document once its last bracket is closed. Lines outside of a document mean nothing. */
  push(line: string): string | undefined {
    if (this.#lines.length === 0 && !/^\s*[{[]/.test(line)) return undefined
    this.#lines.push(line)
    this.#size += line.length
    this.#depth += depthOf(line)
    return this.#depth > 0 ? undefined : this.#take()
  }

  /** Something else came: what was collected is not a document. */
  reset(): void {
    if (this.#lines.length > 0) this.#take()
  }

  #take(): string {
    const text = this.#lines.join('\n')
    this.#lines = []
    this.#size = 0
    this.#depth = 0
    return text
  }
}

/** How much deeper the text behind a line is than the text before it. A JSON string never continues in the next line. */
const depthOf = (line: string): number => {
  let depth = 0
  let inString = false
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]
    if (inString && char === '\\') at += 1
    else if (char === '"') inString = !inString
    else if (inString) continue
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
  }
  return depth
}
