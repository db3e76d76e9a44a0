import type { ChatModel, ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptOptions, type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'

/** What it says follows from what it is asked, so that it says the same again. Its text comes in pieces. */
export const talkative = (
  answer: (request: ModelRequest) => ScriptStep[],
  options: ScriptOptions = {},
): ChatModel => ({
  ...scriptedModel([]),
  stream: (request, sink) => scriptedModel([answer(request)], options).stream(request, sink),
})

export const words = (text: string): ScriptStep[] =>
  text.split(/(?<= )/).flatMap((word) => [{ text: word }, { delayMs: 8 }])
