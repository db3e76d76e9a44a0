/** The folders are the layers, and imports point down: a listing of the folders shows which layer may use which. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** What each layer may import beside itself. `index.ts` and the command line are on top of everything. */
const mayImport: Record<string, readonly string[]> = {
  'src/messages': [],
  'src/model': ['src/messages'],
  'src/schema': ['src/messages'],
  'src/transport': ['src/messages'],
  'src/tools': ['src/messages', 'src/model', 'src/schema', 'src/transport'],
  providers: ['src/messages', 'src/model', 'src/schema', 'src/transport'],
  machines: ['src/messages', 'src/model', 'src/tools'],
  'src/agent': ['src/messages', 'src/model', 'src/transport', 'src/tools', 'providers', 'machines'],
  'src/core': [
    'src/messages',
    'src/model',
    'src/transport',
    'src/tools',
    'providers',
    'machines',
    'src/agent',
  ],
  'src/registry': ['providers'],
  'src/durable': ['src/messages', 'src/model', 'src/tools', 'machines', 'src/agent'],
  'src/dbos': ['src/messages', 'src/model', 'src/tools', 'machines', 'src/agent', 'src/durable'],
  'src/telemetry': ['src/messages', 'src/model', 'src/transport', 'src/tools', 'machines'],
  'src/mcp': [
    'src/messages',
    'src/model',
    'src/transport',
    'src/schema',
    'src/tools',
    'machines',
    'src/agent',
  ],
  'src/ui': [
    'src/messages',
    'src/model',
    'src/transport',
    'src/tools',
    'machines',
    'src/agent',
    'src/durable',
  ],
  'src/react': ['src/messages', 'src/tools', 'machines', 'src/agent'],
  // All of `statewire` is part of it.
  'src/xstate6': ['src/tools', 'machines', 'src/agent', 'src/index.ts'],
  'src/testing': ['src/messages', 'src/model', 'src/transport', 'src/tools', 'src/visualize', 'providers'],
  'src/simulator': ['src/messages'],
  'src/visualize': [],
  'src/inspector': [
    'src/messages',
    'src/model',
    'src/transport',
    'src/tools',
    'src/visualize',
    'providers',
    'machines',
    'src/agent',
    'src/durable',
  ],
}

const layers = Object.keys(mayImport)
const layerOf = (file: string): string | undefined => layers.find((layer) => file.startsWith(`${layer}/`))

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))

const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)].map(
    ([, path = '']) => relative(root, join(root, dirname(file), path)),
  )

const upward = (layer: string, file: string): string[] =>
  importsOf(file)
    .filter((imported) => {
      const target = layerOf(imported) ?? imported
      return target !== layer && !mayImport[layer]?.includes(target)
    })
    .map((imported) => `${file} imports ${imported}`)

it.each(layers)('%s imports only what is below it', (layer) => {
  expect(sources(layer).flatMap((file) => upward(layer, file))).toEqual([])
})

it('has a layer for every folder, and only index.ts beside them', () => {
  const names = readdirSync(join(root, 'src'))
  const known = [
    ...layers.filter((layer) => layer.startsWith('src/')).map((layer) => layer.slice(4)),
    'cli',
    'index.ts',
  ]
  expect(names.toSorted()).toEqual(known.toSorted())
})

it('sees an import that points upwards', () => {
  expect(upward('src/messages', 'src/agent/Agent.ts')).not.toEqual([])
})
