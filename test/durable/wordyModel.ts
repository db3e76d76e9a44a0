import type { ChatModel, ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptOptions, type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'

/** A model whose answer follows from the request, so that it is the same again. Its text comes in pieces. */
export const wordyModel = (
  answer: (request: ModelRequest) => ScriptStep[],
  options: ScriptOptions = {},
): ChatModel => ({
  ...scriptedModel([]),
  stream: (request, sink) => scriptedModel([answer(request)], options).stream(request, sink),
})

export const words = (text: string): ScriptStep[] =>
  text.split(/(?<= )/).flatMap((word) => [{ text: word }, { delayMs: 8 }])
