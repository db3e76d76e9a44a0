import { blockSize, json } from './wires/text.mjs'

/** Answers of a provider as bytes that are made once: what a request costs the server is hardly more than its writes. */
const writeSize = 16 * 1024

const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index)

const cut = (bytes) =>
  range(0, Math.ceil(bytes.length / writeSize)).map((index) =>
    bytes.subarray(index * writeSize, (index + 1) * writeSize),
  )

/** Writes one event at a time. */
export const events = (texts) => texts.map((text) => Buffer.from(text))

/** Writes as much as fits at a time. */
export const bulk = (texts) => cut(Buffer.from(texts.join('')))

/** The writes of a text answer. Its middle repeats one block, so that a million chunks need no gigabyte. */
export const textAnswer = (wire, { chunks, round, asWrites, isJson }) => {
  const { opening, text, closing } = (isJson ? jsonParts : textParts)(wire, { chunks, round })
  const texts = (from, to) => range(from, to).map(text)
  const blocks = Math.floor(chunks / blockSize)
  if (blocks < 2) return [asWrites([...opening, ...texts(0, chunks), ...closing])]
  const first = asWrites([...opening, ...texts(0, blockSize)])
  const block = asWrites(texts(0, blockSize))
  const last = asWrites([...texts(0, chunks % blockSize), ...closing])
  return [first, ...Array(blocks - 1).fill(block), last]
}

const textParts = (wire, { chunks, round }) => ({
  opening: wire.opening(round),
  text: (index) => wire.text(index, round),
  closing: wire.closing(chunks, round),
})

const jsonParts = (wire, { chunks, round }) => ({
  opening: [...wire.opening(round), wire.said(json.opening, round)],
  text: (index) => wire.said(json.piece(index), round),
  closing: [wire.said(json.closing, round), ...wire.closing(chunks, round)],
})

export const callsAnswer = (wire, { round, calls, asWrites }) => [asWrites(wire.calls(round, calls))]
