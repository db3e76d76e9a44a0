import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { listIn, objectIn, RefusedRequest, textIn } from './wire.ts'

/** The beta header without which a request cannot choose what happens to blocks of another conversation. */
const controls = 'thinking-binding-controls-2026-08-01'

const refusal =
  'Invalid signature in thinking block. The block is bound to a different conversation. Send the conversation as it was, or leave the block out.'

/**
 * Checks the thinking blocks that come back, as Claude does since Fable 5.1: each is bound to the system prompt, the tools
 * and the messages before it. A block of another conversation is refused, or dropped with all later ones where the
 * request says so. Returns the signature for the blocks of the answer, and the request without what was dropped.
 */
export const checkThinking = (body: JsonObject, betas: string): { body: JsonObject; signature: string } => {
  const messages = listIn(body, 'messages')
  const drops = dropsBlocks(objectIn(body, 'thinking'), betas)
  let isBroken = false
  const kept = messages.map((message, index) => {
    if (!Array.isArray(message.content)) return message
    const signature = signatureOf(body, messages.slice(0, index))
    const content = message.content.filter((block) => {
      if (!isThinking(block)) return true
      isBroken ||= textIn(block, block.type === 'thinking' ? 'signature' : 'data') !== signature
      if (isBroken && !drops) throw new RefusedRequest(`messages.${index}.content: ${refusal}`)
      return !isBroken
    })
    return { ...message, content }
  })
  return { body: { ...body, messages: kept }, signature: signatureOf(body, messages) }
}

const dropsBlocks = (thinking: JsonObject, betas: string): boolean => {
  const binding = objectIn(thinking, 'block_binding')
  if (Object.keys(binding).length === 0) return false
  if (!betas.includes(controls))
    throw new RefusedRequest('thinking.block_binding: Extra inputs are not permitted')
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled')
    throw new RefusedRequest(`thinking.${textIn(thinking, 'type')}.block_binding: not available`)
  return binding.prefix_mismatch_behavior === 'drop_block'
}

const isThinking = (block: JsonValue): block is JsonObject =>
  isJsonObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking')

/** A cache marker moves with each request, so that it is not a part of what is signed. */
const signatureOf = ({ system, tools }: JsonObject, messages: readonly JsonObject[]): string => {
  const signed = JSON.stringify([blocksOf(system), tools ?? [], messages.map(inBlocks)], (key, value) =>
    key === 'cache_control' ? undefined : value,
  )
  return `bound-${createHash('sha256').update(signed).digest('hex').slice(0, 32)}`
}

const inBlocks = ({ role, content }: JsonObject): JsonValue => [role ?? '', blocksOf(content)]

/** A text is short for one block: a marker turns the one into the other. */
const blocksOf = (content: JsonValue | undefined): JsonValue =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
