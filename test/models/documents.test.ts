import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { presets } from '../../providers/presets.ts'
import { rowOf, today } from './rowOf.ts'

// A reader who copies a line of the documents gets a model that exists.

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/node_modules|^api\//.test(name))
    .map((name) => join(folder, name))

const documents = [
  'README.md',
  ...filesIn('docs', /\.md$/),
  ...filesIn('examples', /\.(mjs|ts|tsx|md)$/),
  // Doc comments are shown in the reference.
  ...['src', 'machines', 'providers'].flatMap((folder) => filesIn(folder, /\.(ts|html)$/)),
]

const names = presets
  .flatMap(({ name, aliases }) => [name, ...aliases])
  .toSorted((a, b) => b.length - a.length)
const modelString = new RegExp(`(?<=['"\`])(${names.join('|')}):([\\w./:-]*[\\w])(?=['"\`])`, 'g')

/** Names in place of one of the reader's own, the simulator's, and OpenRouter's server tools. */
const isOwn = (model: string): boolean => /^(my-|team-|simulator$|vendor\/|model|web_|image_)/.test(model)

const named = documents.flatMap((document) =>
  [...readFileSync(document, 'utf8').matchAll(modelString)]
    .map(([, provider = '', model = '']) => ({ document, provider, model }))
    .filter(({ model }) => !isOwn(model)),
)

it('finds the models that the documents name', () => {
  expect(named.length).toBeGreaterThan(30)
})

it('names only models that are known and not retired', () => {
  const bad = named.filter(({ provider, model }) => {
    const row = rowOf(provider.replace('claude', 'anthropic').replace('gemini', 'google'), model)
    const elsewhere = row ?? rowOf('any', model)
    return elsewhere === undefined || (elsewhere.retires ?? '9999') <= today
  })
  expect(bad).toEqual([])
})

it('shows the default models: what is advised is what is used', () => {
  const models = new Set(named.map(({ model }) => model))
  const defaults = new Map(presets.map(({ name, defaultModel }) => [name, defaultModel]))
  for (const name of ['openai', 'anthropic', 'ollama']) expect(models).toContain(defaults.get(name))
})
