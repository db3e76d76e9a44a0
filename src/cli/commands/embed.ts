import { Agent } from '../../agent/Agent.ts'
import { chooseMaker } from '../chooseModel.ts'
import { type Command, modelOptions, numberOption } from '../command.ts'
import { exit, onInterrupt, UsageError } from '../outcome.ts'
import { promptOf } from '../question.ts'

export const embed: Command = {
  name: 'embed',
  summary: 'Makes the vector of a text',
  operands: '[text]',
  options: {
    model: { ...modelOptions.model, about: 'provider, or provider:embeddings-model' },
    'base-url': modelOptions['base-url'],
    dimensions: { type: 'string', value: 'n', about: 'the length of the vector' },
    lines: { type: 'boolean', about: 'each line is a text to be found' },
    quiet: { type: 'boolean', short: 'q', about: 'nothing on stderr but errors' },
  },
  details: [
    'Prints a list of numbers on one line. The text is taken for a question that',
    'searches; with --lines each line is one of the texts that are searched, and has',
    'a line of its own on stdout.',
  ],
  run: async (invocation) => {
    const { screen, values } = invocation
    const dimensions = numberOption(invocation, 'dimensions')
    if (dimensions !== undefined && !(Number.isInteger(dimensions) && dimensions > 0))
      throw new UsageError('--dimensions takes a positive whole number.')
    const text = await promptOf(invocation)
    const { model, options, said } = await chooseMaker(invocation, 'embeddings')
    const note = (line: string) => {
      if (values.quiet !== true) screen.note(screen.notePaint.dim(line))
    }
    note(`Model: ${said}`)
    const stop = new AbortController()
    const restore = onInterrupt(() => stop.abort())
    try {
      const agent = new Agent(model, options)
      const wish = { signal: stop.signal, ...(dimensions !== undefined && { dimensions }) }
      const lines = text.split('\n').filter((line) => line.trim() !== '')
      const vectors =
        values.lines === true
          ? (await agent.embedDocuments(lines, wish)).embeddings
          : [(await agent.embedQuery(text, wish)).embeddings]
      for (const vector of vectors) screen.json(vector)
      return exit.complete
    } finally {
      restore()
    }
  },
}
