import { Conversation } from '../chat/Conversation.ts'
import { type Command, modelOptions } from '../command.ts'

export const chat: Command = {
  name: 'chat',
  summary: 'Talks with a model, and keeps the conversation',
  operands: '[file]',
  options: {
    ...modelOptions,
    db: { type: 'string', value: 'path', about: 'store the conversation in this file' },
    chat: { type: 'string', value: 'name', about: 'the chat of this name in the file, or a new one' },
    continue: { type: 'boolean', short: 'c', about: 'continue the last conversation' },
    quiet: { type: 'boolean', short: 'q', about: 'nothing on stderr but errors and questions' },
  },
  details: [
    'Type a line, get an answer; /help lists the commands. Ctrl-C ends a running',
    'answer, at the prompt it leaves. Lines from a pipe are turns, too. A file is one',
    'that exports an agent; its code runs. Attachments go with the first prompt.',
    '',
    'With --db a conversation outlives this command, however it ends: the next one',
    'continues an unfinished answer, and asks an open question again.',
  ],
  run: async (invocation) => {
    const conversation = await Conversation.open(invocation)
    try {
      return await conversation.hold()
    } finally {
      await conversation.close()
    }
  },
}
