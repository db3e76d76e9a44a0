import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import { splitFile } from './agentFile.ts'
import { answerSchema } from './answerSchema.ts'
import { attachmentsOf } from './attachments.ts'
import type { Invocation } from './command.ts'
import { lastConversation } from './lastConversation.ts'
import { promptOf } from './promptOf.ts'

/** What is asked, and whom. */
export type Question = {
  /** The file whose agent is asked. */
  file: string | undefined
  prompt: string
  attachments: Part[]
  /** What was said before, with `--continue`. */
  history: ChatMessage[]
  /** The shape of the answer. */
  schema: { jsonSchema: JsonObject } | undefined
}

/** What was typed and piped in, read and checked before a model is asked. */
export const questionOf = async (invocation: Invocation, otherwise = ''): Promise<Question> => {
  const { file, words } = splitFile(invocation.words)
  const [attachments, schema] = await Promise.all([attachmentsOf(invocation), answerSchema(invocation)])
  const prompt = await promptOf({ ...invocation, words }, file === undefined ? otherwise : '')
  const history = invocation.values.continue === true ? lastConversation(invocation.env) : []
  return { file, prompt, attachments, history, schema }
}
