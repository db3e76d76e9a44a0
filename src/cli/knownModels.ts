import { modelTables } from '../../providers/models/index.ts'
import type { ModelFacts } from '../../providers/models/modelFacts.ts'
import type { Paint } from './paint.ts'

const columns = ['PROVIDER', 'MODEL', 'READS TEXT AND', 'THINKING', 'WINDOW', 'OUTPUT', 'RETIRES', 'CHECKED']

/** What statewire knows of models: a line for each name. Models that are gone are left out. */
export const knownModelRows = (paint: Paint, today: string): string[][] => [
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
