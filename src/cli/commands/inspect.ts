import { once } from 'node:events'
import type { AgentEmitted } from '../../../machines/agent/events.ts'
import { prefixSentence } from '../../../machines/model/requestPrefix.ts'
import { chooseAgent } from '../chooseAgent.ts'
import { type Command, type Invocation, modelOptions, textOption } from '../command.ts'
import { exit, exitCodeOf, showEnd, UsageError } from '../outcome.ts'
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
import { openStore } from '../runs/openStore.ts'
import { interrupted, watchedRun } from '../watchedRun.ts'

const defaultPrompt = 'What time is it in Tokyo and in New York? What is 17.5 * 24.8?'

export const inspect: Command = {
  name: 'inspect',
  summary: 'Answers one prompt, shown in a local inspector',
  operands: '[file] [prompt]',
  options: {
    ...modelOptions,
    schema: { type: 'string', value: 'file', about: 'answer in JSON that fits this JSON Schema' },
    continue: { type: 'boolean', short: 'c', about: 'continue the last conversation' },
    keep: { type: 'boolean', about: 'leave the inspector open after the end' },
    db: { type: 'string', value: 'path', about: 'shows the runs of a file or database instead' },
  },
  details: [
    'Prints the address of the inspector, a line for each state that the run enters,',
    'and the text as it comes. On a terminal the inspector stays open until Ctrl-C.',
    'Without a prompt it asks one that makes tools run; - reads it from stdin.',
  ],
  run: async (invocation) => {
    if (textOption(invocation, 'db') !== undefined) return inspectStore(invocation)
    const { screen, values } = invocation
    const { paint } = screen
    const question = await questionOf(invocation, defaultPrompt)
    const [chosen, { startInspector }] = await Promise.all([
      chooseAgent(invocation, question.file),
      import('../../inspector/index.ts'),
    ])
    const inspector = await startInspector()
    const quiet = (line: string) => screen.line(paint.dim(`  · ${screen.clip(line)}`))
    const states = stateWatcher(quiet)
    const answer = new AnswerView(screen)
    const show = (event: AgentEmitted) => {
      if (event.type === 'chunk') answer.show(event)
      if (event.type === 'tool.call') quiet(callLine(event.call))
      if (event.type === 'tool.result') quiet(resultLine(event.result))
      if (event.type === 'compaction') quiet(compactionLine(event))
      if (event.type === 'prefix') quiet(prefixSentence(event))
      if (event.type === 'warning') screen.line(paint.yellow(`  ! ${screen.clip(warningLine(event))}`))
      if (event.type === 'retry') screen.line(paint.yellow(`  ! ${screen.clip(retryLine(event))}`))
    }
    try {
      screen.line(`Inspector: ${paint.cyan(inspector.url)}`)
      screen.line(chosen.said)
      screen.line(`\n${paint.bold('>')} ${question.prompt}\n`)
      const output = await watchedRun(invocation, {
        question,
        agent: chosen.make(),
        inspect: (event) => {
          inspector.inspect(event)
          states(event)
        },
        onEvent: show,
      })
      showEnd(output, screen)
      screen.line(paint.dim(`\n${output.status}, ${usageText(output.usage)}`))
      const isLeft = output.status === 'aborted' && output.reason === interrupted
      if (!isLeft && (values.keep === true || screen.isTerminal)) {
        screen.line(paint.dim('The inspector stays open, Ctrl-C to leave.'))
        await once(process, 'SIGINT')
      } else if (!isLeft) screen.line(paint.dim('The inspector closes with the run; --keep leaves it open.'))
      return exitCodeOf(output)
    } finally {
      await Promise.all([inspector.close(), chosen.close()])
    }
  },
}

/** Shows stored runs in an inspector, until Ctrl-C. */
const inspectStore = async (invocation: Invocation): Promise<number> => {
  const { screen, words } = invocation
  if (words.length > 0) throw new UsageError('With --db there is no prompt: it shows stored runs.')
  const runs = await openStore(invocation)
  try {
    const { startInspector } = await import('../../inspector/index.ts')
    const inspector = await startInspector({ runs })
    screen.line(`Inspector: ${screen.paint.cyan(inspector.url)}`)
    screen.note(screen.notePaint.dim('It shows the stored runs, and stores your decisions. Ctrl-C to leave.'))
    await new Promise((resolve) => process.once('SIGINT', resolve))
    await inspector.close()
  } finally {
    await runs.close()
  }
  return exit.complete
}
