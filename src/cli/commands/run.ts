import type { AgentEmitted } from '../../../machines/events.ts'
import { AnswerView } from '../AnswerView.ts'
import { chooseModel } from '../chooseModel.ts'
import { type Command, modelOptions } from '../command.ts'
import { exitCodeOf, showEnd } from '../outcome.ts'
import { promptOf } from '../promptOf.ts'
import { stateWatcher } from '../stateNames.ts'
import { callLine, resultLine, retryLine } from '../toolLine.ts'
import { watchedRun } from '../watchedRun.ts'

export const run: Command = {
  name: 'run',
  summary: 'Answers one prompt',
  operands: '[prompt]',
  options: {
    ...modelOptions,
    json: { type: 'boolean', about: 'every event as a line of JSON, the end as the last one' },
    verbose: {
      type: 'boolean',
      short: 'v',
      about: 'states and tool calls on stderr, whatever it is',
    },
  },
  details: [
    'The text goes to stdout as it comes, everything else to stderr. What is piped in',
    'joins the prompt, below it; - at the end waits for it however long it takes.',
    'Ctrl-C aborts the run.',
  ],
  run: async (invocation) => {
    const { screen, values } = invocation
    const prompt = await promptOf(invocation)
    const chosen = await chooseModel(invocation)
    const isJson = values.json === true
    const isTold = values.verbose === true || (screen.hasReader && !isJson)
    const note = (line: string) => {
      if (isTold) screen.note(screen.notePaint.dim(`  · ${screen.clip(line)}`))
    }
    const answer = new AnswerView(screen)
    const show = (event: AgentEmitted) => {
      if (event.type === 'chunk') answer.show(event)
      if (event.type === 'tool.call') note(callLine(event.call))
      if (event.type === 'tool.result') note(resultLine(event.result))
      if (event.type === 'retry') screen.note(screen.notePaint.yellow(`  ! ${screen.clip(retryLine(event))}`))
    }
    try {
      screen.note(screen.notePaint.dim(`Model: ${chosen.said}`))
      const output = await watchedRun(invocation, {
        prompt,
        chosen,
        inspect: stateWatcher(note),
        onEvent: isJson ? (event) => screen.json(event) : show,
      })
      if (isJson) {
        const { messages: _, metadata: __, ...end } = output
        screen.json({ type: 'end', ...end })
      }
      showEnd(output, screen)
      return exitCodeOf(output)
    } finally {
      await chosen.close()
    }
  },
}
