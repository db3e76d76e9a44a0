import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { modelMessage } from '../../src/messages/messages.ts'
import type { Replay } from '../openai-chat/replay.ts'
import { ownIdsMark } from '../openai-chat/replay.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import { rebuilt } from '../wire/replay.ts'
import { mistralCallIds } from './profile.ts'

/** A block of the content: thinking or a reference as it came, or the number of characters of text at this place. */
type Block = { text: number } | { thinking: Thinking } | { part: JsonObject }
type Thinking = { items: JsonObject[]; last: string; others: Map<string, JsonValue> }

/** Keeps the order of thinking and text, so that the next request shows the answer as Mistral gave it. */
export const mistralReplay = (): Replay => {
  const blocks: Block[] = []

  const addText = (text: string): void => {
    const block = blocks.at(-1)
    if (block && 'text' in block) block.text += text.length
    else if (text !== '') blocks.push({ text: text.length })
  }

  const addThinking = (part: JsonObject): void => {
    const { type: _, thinking: __, ...others } = part
    const block = blocks.at(-1)
    // A signature closes the block it signs.
    const isOpen = block && 'thinking' in block && typeof block.thinking.others.get('signature') !== 'string'
    const thinking = isOpen ? block.thinking : { items: [], last: '', others: new Map() }
    if (!isOpen) blocks.push({ thinking })
    const plain = stringAt(part, 'thinking')
    const items = plain === undefined ? arrayAt(part, 'thinking') : textItem(plain)
    for (const item of items ?? []) if (isJsonObject(item)) addItem(thinking, item)
    for (const [key, value] of Object.entries(others)) thinking.others.set(key, value)
  }

  const addPart = (part: JsonValue): void => {
    if (typeof part === 'string') addText(part)
    else if (!isJsonObject(part)) return
    else if (part.type === 'text') addText(stringAt(part, 'text') ?? '')
    else if (part.type === 'thinking') addThinking(part)
    else if (part.type === 'reference') blocks.push({ part })
  }

  return {
    read: ({ content }) => {
      if (typeof content === 'string') addText(content)
      else if (Array.isArray(content)) for (const part of content) addPart(part)
    },
    data: ({ calls }) => ({
      ...(blocks.some((block) => 'thinking' in block) && { content: blocks.map(storedBlock) }),
      ...ownIdsMark(calls, mistralCallIds),
    }),
  }
}

/** Texts are joined as they come, everything else keeps its place among them. */
const addItem = (thinking: Thinking, item: JsonObject): void => {
  if (item.type === 'text') {
    thinking.last += stringAt(item, 'text') ?? ''
    return
  }
  thinking.items.push(...textItem(thinking.last), item)
  thinking.last = ''
}

const textItem = (text: string): JsonObject[] => (text === '' ? [] : [{ type: 'text', text }])

const storedBlock = (block: Block): JsonObject => {
  if ('text' in block) return { text: block.text }
  if ('part' in block) return block.part
  const { items, last, others } = block.thinking
  return { type: 'thinking', thinking: [...items, ...textItem(last)], ...Object.fromEntries(others) }
}

/** The content of a message from its stored blocks: where the text is no longer the same, it follows the thinking. */
export const replayedContent = (blocks: readonly JsonValue[], text: string): JsonObject[] => {
  const thinking = blocks.filter(isJsonObject).filter(({ type }) => type === 'thinking')
  const content = rebuilt(modelMessage(text), blocks, {
    block: (block) => (typeof block.type === 'string' ? block : undefined),
    text: (piece) => ({ type: 'text', text: piece }),
    call: () => undefined,
  })
  return content?.filter((block) => block.text !== '') ?? [...thinking, ...textItem(text)]
}
