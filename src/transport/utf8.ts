// A decoder that never streams keeps Node's fast path, which is many times faster on ASCII.
const whole = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Decodes UTF-8 across reads. Invalid bytes become U+FFFD; a character cut between two reads stays whole.
 * Reads that end on an ASCII byte, which is nearly all of them, need no memory of what came before.
 */
export class Utf8Stream {
  #streaming: InstanceType<typeof TextDecoder> | undefined
  #isCut = false

  push(bytes: Uint8Array): string {
    const last = bytes[bytes.length - 1]
    if (last === undefined) return ''
    const endsWhole = last < 0x80
    if (endsWhole && !this.#isCut) return whole.decode(bytes)
    this.#streaming ??= new TextDecoder('utf-8', { ignoreBOM: true })
    this.#isCut = !endsWhole
    return this.#streaming.decode(bytes, { stream: true })
  }

  end(): string {
    return this.#isCut && this.#streaming ? this.#streaming.decode() : ''
  }
}
