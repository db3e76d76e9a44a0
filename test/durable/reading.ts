import type { DurableChunk, DurableRun } from '../../src/durable/index.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'

export type Read = {
  cursors: string[]
  chunks: DurableChunk[]
  /** The text of each message, as a reader puts it together from the pieces. */
  texts: string[]
  messages: ChatMessage[]
}

/** Reads a stream to its end, or to a wait. A restart makes the text since the last message void. */
export const readAll = async (run: DurableRun, after?: string): Promise<Read> => {
  const read: Read = { cursors: [], chunks: [], texts: [], messages: [] }
  let text = ''
  for await (const { cursor, chunk } of run.stream(after === undefined ? {} : { after })) {
    read.cursors.push(cursor)
    read.chunks.push(chunk)
    if (chunk.metadata.restart) text = ''
    text += chunk.output
    if (chunk.messages.length === 0) continue
    read.messages.push(...chunk.messages)
    if (text !== '') read.texts.push(text)
    text = ''
  }
  if (text !== '') read.texts.push(text)
  return read
}
