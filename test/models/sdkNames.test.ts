import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { anthropicModels } from '../../providers/models/anthropic.ts'
import { googleModels } from '../../providers/models/google.ts'
import { knownModel, type ModelTable } from '../../providers/models/modelFacts.ts'
import { openaiModels } from '../../providers/models/openai.ts'
import { openaiPrices } from '../../providers/models/priceLists.ts'
import { cohereModels } from '../../providers/models/vendors.ts'

// The tables against the names in the types of the official clients: who is new there must be looked up here.

const quoted = (text: string): string[] =>
  [...text.matchAll(/['"]([\w.-]+)['"]/g)].map(([, name = '']) => name)

/** The string literals of a type, as the declarations of a package write it on one line. */
const namesIn = (file: string, declaration: string): string[] => {
  const lines = readFileSync(`node_modules/${file}`, 'utf8').split('\n')
  return lines.filter((line) => line.includes(declaration)).flatMap(quoted)
}

/** Models of the same lists that make no text: pictures, speech, music, films. */
const isNoTextModel = (name: string): boolean => /-tts|lyria|omni/.test(name)

const clients: { table: ModelTable; names: string[] }[] = [
  {
    table: openaiModels,
    names: [
      ...namesIn('openai/resources/shared.d.ts', 'export type ChatModel ='),
      ...namesIn('openai/resources/shared.d.ts', 'export type ResponsesModel ='),
    ],
  },
  {
    table: anthropicModels,
    names: namesIn('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'export type Model ='),
  },
  {
    table: googleModels,
    names: namesIn('@google/genai/dist/genai.d.ts', 'declare type Model_2 =').filter(
      (name) => !isNoTextModel(name),
    ),
  },
  {
    // Cohere's types leave the name open; their examples do not.
    table: cohereModels,
    names: namesIn('cohere-ai/dist/api/resources/v2/client/requests/V2ChatStreamRequest.d.ts', 'model: "'),
  },
]

describe.each(clients)('the table of $table.provider', ({ table, names }) => {
  it('knows every model that the official client names', () => {
    expect(names.length).toBeGreaterThan(2)
    expect(names.filter((name) => isGuessed(table, name))).toEqual([])
  })
})

/** A row that only says what all of its vendor's models have in common is not knowledge. */
const isGuessed = (table: ModelTable, name: string): boolean => {
  const row = knownModel(table, name)
  return row === undefined || row.names.includes('claude')
}

/** The client of OpenAI names no model of a closed preview, a catalogue does. */
const sold = openaiPrices
  .trim()
  .split('\n')
  .map((line) => line.split(' ')[0] ?? '')

it.each([
  [openaiModels, [...(clients[0]?.names ?? []), ...sold]],
  [anthropicModels, clients[1]?.names ?? []],
])('has no name that is only a slip of the pen', (table, names) => {
  const current = table.rows.filter(({ retires }) => retires === undefined)
  const unheard = current.filter((row) => !names.some((name) => knownModel({ rows: [row] }, name) === row))
  expect(unheard.map(({ names }) => names)).toEqual([])
})
