import type { AgentEmitted } from '../../../machines/agent/events.ts'
import { prefixSentence } from '../../../machines/model/requestPrefix.ts'
import { chooseAgent } from '../chooseAgent.ts'
import { type Command, modelOptions } from '../command.ts'
import { keepConversation } from '../history.ts'
import { exitCodeOf, showEnd } from '../outcome.ts'
import {
  AnswerView,
  callLine,
  compactionLine,
  resultLine,
  retryLine,
  stateWatcher,
  usageText,
  warningLine,
} from '../progress.ts'
import { questionOf } from '../question.ts'
import { watchedRun } from '../watchedRun.ts'

export const run: Command = {
  name: 'run',
  summary: 'Answers one prompt',
  operands: '[file] [prompt]',
  options: {
    ...modelOptions,
    continue: { type: 'boolean', short: 'c', about: 'continue the last conversation' },
    schema: { type: 'string', value: 'file', about: 'answer in JSON that fits this JSON Schema' },
    json: { type: 'boolean', about: 'every event as a line of JSON, the end last' },
    verbose: {
      type: 'boolean',
      short: 'v',
      about: 'states, tool calls and tokens on stderr, always',
    },
    quiet: { type: 'boolean', short: 'q', about: 'nothing on stderr but errors and questions' },
  },
  details: [
    'The text goes to stdout as it arrives, everything else to stderr. Piped input',
    'goes below the prompt; a - at the end waits for it, however long it takes.',
    'Ctrl-C aborts the run. A file is one that exports an agent; its code runs.',
  ],
  run: async (invocation) => {
    const { screen, values } = invocation
    const question = await questionOf(invocation)
    const chosen = await chooseAgent(invocation, question.file)
    const isJson = values.json === true
    const isQuiet = values.quiet === true
    const isTyped = question.schema !== undefined
    const showsNotes = !isQuiet && (values.verbose === true || (screen.hasReader && !isJson))
    const note = (line: string) => {
      if (showsNotes) screen.note(screen.notePaint.dim(`  · ${screen.clip(line)}`))
    }
    const answer = new AnswerView(screen)
    const show = (event: AgentEmitted) => {
      // A typed answer is shown only when it is complete: until then it may be corrected.
      if (event.type === 'chunk' && !isTyped) answer.show(event)
      if (event.type === 'tool.call') note(callLine(event.call))
      if (event.type === 'tool.result') note(resultLine(event.result))
      if (event.type === 'compaction') note(compactionLine(event))
      if (event.type === 'prefix') note(prefixSentence(event))
      if (event.type === 'warning' && !isQuiet)
        screen.note(screen.notePaint.yellow(`  ! ${screen.clip(warningLine(event))}`))
      if (event.type === 'retry' && !isQuiet)
        screen.note(screen.notePaint.yellow(`  ! ${screen.clip(retryLine(event))}`))
    }
    try {
      if (!isQuiet) screen.note(screen.notePaint.dim(chosen.said))
      const output = await watchedRun(invocation, {
        question,
        agent: chosen.make(),
        inspect: stateWatcher(note),
        onEvent: isJson ? (event) => screen.json(event) : show,
      })
      if (isJson) {
        const { messages: _, metadata: __, ...end } = output
        screen.json({ type: 'end', ...end })
      } else if (isTyped && output.status === 'complete') screen.json(JSON.parse(output.output))
      if (output.status === 'complete')
        keepConversation(invocation.env, [...question.history, ...output.messages])
      showEnd(output, screen)
      if (values.verbose === true) note(usageText(output.usage))
      return exitCodeOf(output)
    } finally {
      await chosen.close()
    }
  },
}
