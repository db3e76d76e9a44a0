import { anthropic } from './anthropic.mjs'
import { google } from './google.mjs'
import { ollama } from './ollama.mjs'
import { openaiChat } from './openaiChat.mjs'
import { openaiResponses } from './openaiResponses.mjs'

/** Each wire both ways: what its provider sends (`opening` … `calls`) and how the floor reads it (`start` … `next`). */
export const wires = Object.fromEntries(
  [openaiChat, openaiResponses, anthropic, google, ollama].map((wire) => [wire.name, wire]),
)

/** The base URL for an answer of this shape: the provider reads it from the path. */
export const baseUrlOf = (
  origin,
  wire,
  { pacing = 'bulk', answer = 'text', chunks, rounds = 0, calls = 0 },
) => `${origin}/${wire.name}/${pacing}/${answer}/${chunks}/rounds/${rounds}/calls/${calls}${wire.base}`
