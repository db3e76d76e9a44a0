import { modelTables } from '../../providers/models/index.ts'
import type { ModelFacts } from '../../providers/models/modelFacts.ts'
import type { Paint } from './paint.ts'

const columns = ['PROVIDER', 'MODEL', 'READS', 'THINKING', 'WINDOW', 'OUTPUT', 'RETIRES', 'CHECKED']

/** What statewire knows of models: a line for each family. Models that are gone are left out. */
export const knownModelRows = (paint: Paint, today: string): string[][] => [
  columns.map(paint.dim),
  ...modelTables.flatMap(({ provider, rows }) =>
    rows
      .filter(({ retires }) => retires === undefined || retires > today)
      .map((row) => [provider, paint.bold(row.names.join(' ')), ...factCells(row, paint)]),
  ),
]

const factCells = (facts: ModelFacts, paint: Paint): string[] => [
  ['text', ...(facts.reads ?? [])].join(' '),
  thinkingCell(facts),
  facts.window?.toLocaleString('en-US') ?? '',
  facts.maxOutput?.toLocaleString('en-US') ?? '',
  facts.retires === undefined ? '' : paint.yellow(facts.retires),
  paint.dim(facts.checked),
]

const thinkingCell = ({ efforts = [], budget, thinks }: ModelFacts): string => {
  if (efforts.length > 0) return efforts.join(' ')
  if (budget) return `${budget.min}–${budget.max} tokens`
  return thinks ? 'on or off' : '–'
}
