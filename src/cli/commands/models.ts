import { modelTables } from '../../../providers/models/index.ts'
import type { ModelFacts } from '../../../providers/models/modelFacts.ts'
import { listModels, listProviders } from '../../../providers/registry.ts'
import { otherServer } from '../chooseModel.ts'
import { type Command, type Invocation, textOption } from '../command.ts'
import { exit } from '../outcome.ts'
import { type Paint, printable, table } from '../terminalText.ts'

const patience = 15_000

export const models: Command = {
  name: 'models',
  summary: 'Lists models: of a provider, or all that are known',
  operands: '[provider]',
  options: {
    'base-url': {
      type: 'string',
      value: 'url',
      about: 'another server that speaks the protocol of the provider',
    },
  },
  details: [
    'With a provider: its models, one per line, asked from it right now. Without one:',
    'what is known of models (what they read, how hard they can think, how much fits',
    'into them, when they are switched off), then the providers. A model that is',
    'not in the table is treated like the newest family of its provider.',
  ],
  run: async (invocation) => {
    const { words, screen, env } = invocation
    const [provider] = words
    if (provider === undefined) return showKnown(invocation)
    const server = otherServer(textOption(invocation, 'base-url'), env)
    const found = await listModels(provider, { signal: AbortSignal.timeout(patience), ...server })
    for (const { id } of found.toSorted((a, b) => a.id.localeCompare(b.id))) screen.line(printable(id))
    return exit.complete
  },
}

const showKnown = ({ screen, env }: Invocation): number => {
  const { paint } = screen
  const today = new Date().toISOString().slice(0, 10)
  for (const line of table(knownModelRows(paint, today))) screen.line(line)
  screen.line()
  const rows = listProviders().map(({ name, keyVariable, defaultModel }) => {
    const isSet = keyVariable !== undefined && Boolean(env[keyVariable]?.trim())
    const key = keyVariable ?? '–'
    return [paint.bold(name), defaultModel || '–', isSet ? paint.green(`${key} ✓`) : paint.dim(key)]
  })
  for (const line of table([['PROVIDER', 'DEFAULT MODEL', 'KEY'].map(paint.dim), ...rows])) screen.line(line)
  return exit.complete
}

const columns = ['PROVIDER', 'MODEL', 'READS TEXT AND', 'THINKING', 'WINDOW', 'OUTPUT', 'RETIRES', 'CHECKED']

/** The known models, a row for each name. Models that are gone are left out. */
const knownModelRows = (paint: Paint, today: string): string[][] => [
  columns.map(paint.dim),
  ...modelTables.flatMap(({ provider, rows }) =>
    rows
      .filter(({ retires }) => retires === undefined || retires > today)
      .flatMap((row) => row.names.map((name) => [provider, paint.bold(name), ...factCells(row, paint)])),
  ),
]

const factCells = (facts: ModelFacts, paint: Paint): string[] => [
  facts.reads?.join(' ') ?? '',
  thinkingCell(facts),
  facts.window?.toLocaleString('en-US') ?? '',
  facts.maxOutput?.toLocaleString('en-US') ?? '',
  facts.retires === undefined ? '' : paint.yellow(facts.retires),
  paint.dim(facts.checked ?? 'not checked'),
]

const thinkingCell = ({ efforts = [], budget, thinks }: ModelFacts): string => {
  if (efforts.length > 0) return [...new Set([efforts[0], efforts.at(-1)])].join('–')
  if (budget) return `${budget.min}–${budget.max} tokens`
  return thinks ? 'on or off' : '–'
}
