/** A bundle has what its program asked for, and nothing of the other rooms: by the files in it, and by its weight. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { priceLists } from '../../providers/models/priceLists.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { type Bundle, bundle, roomsOf } from './bundles.ts'

/** The rooms that every agent is made of. */
const engine = [
  ...['agent', 'compaction', 'logic', 'model', 'orchestrators', 'policy', 'stored', 'tasks', 'tools'].map(
    (room) => `machines/${room}`,
  ),
  ...['agent', 'messages', 'model', 'schema', 'tools', 'transport'].map((room) => `src/${room}`),
  ...['@cfworker/json-schema', 'fastest-levenshtein', 'uuid', 'xstate'],
]

/** The rooms that every provider over HTTP is made of; the version is from package.json. */
const wire = ['.', 'eventsource-parser', 'providers', 'providers/http', 'providers/values', 'providers/wire']

/** The providers whose rooms are their own, with the tables of models that they need. */
const own: Record<string, { rooms: string[]; tables: string[] }> = {
  openai: {
    rooms: ['providers/clouds', 'providers/openai-chat', 'providers/openai-responses'],
    tables: ['openai'],
  },
  anthropic: { rooms: ['providers/anthropic'], tables: ['anthropic'] },
  google: { rooms: ['providers/google'], tables: ['google'] },
  mistral: { rooms: ['providers/mistral', 'providers/openai-chat'], tables: ['mistral'] },
  cohere: { rooms: ['providers/cohere'], tables: ['vendors'] },
  ollama: { rooms: ['providers/ollama'], tables: ['openWeights'] },
}

const values = readdirSync('providers/values').map((file) => file.replace('.ts', ''))

const pageOf = (name: string, from = 'statewire') => `
import { Agent } from '${from}'
import { ${name} } from 'statewire/providers/${name}'
export const agent = new Agent(${name}('a-model'))`

const named = "import { Agent } from 'statewire'\nexport const agent = new Agent('openai:gpt-6-luna')"

const filesIn = ({ files }: Bundle, folder: string): string[] =>
  [...files.keys()].filter((file) => file.startsWith(folder)).map((file) => file.slice(folder.length))

/** The most that these may weigh, in KB of gzip: a little above what they do. A raise needs a reason, such as a protocol or sentences for mistakes. */
const budgets = { openai: 164, anthropic: 153, registry: 204, tool: 14 }

describe('a page with a provider as a value', () => {
  test.each(Object.keys(own))('has no room of another provider than %s', async (name) => {
    const { rooms = [], tables = [] } = own[name] ?? {}
    const page = await bundle(pageOf(name), 'browser')
    expect([...roomsOf(page).keys()].toSorted()).toEqual(
      [...engine, ...wire, ...rooms, 'providers/models'].toSorted(),
    )
    expect(filesIn(page, 'providers/values/')).toEqual([`${name}.ts`])
    const shared = ['modelFacts', 'prices', 'priceLists']
    const inTables = filesIn(page, 'providers/models/').map((file) => file.replace('.ts', ''))
    expect(inTables.filter((file) => !shared.includes(file))).toEqual(tables)
  })

  test.each(values)(
    'has neither the registry nor embeddings, files or a list of models: %s',
    async (name) => {
      const page = await bundle(pageOf(name), 'browser')
      const rooms = ['embeddings/', 'files/', 'models/index', 'registry', 'presets', 'defineProvider']
      for (const room of rooms) expect(filesIn(page, `providers/${room}`), room).toEqual([])
      expect(filesIn(page, 'providers/values/')).toEqual([`${name}.ts`])
    },
  )

  test('has the prices of its provider alone', async () => {
    const { code } = await bundle(pageOf('openai'), 'browser')
    const found = [...priceLists].filter(([, list]) => code.includes(list.trim().slice(0, 60)))
    expect(found.map(([name]) => name)).toEqual(['openai'])
  })

  test('weighs no more than its budget', async () => {
    expect((await bundle(pageOf('openai'), 'browser')).gzip).toBeLessThan(budgets.openai)
    expect((await bundle(pageOf('anthropic'), 'browser')).gzip).toBeLessThan(budgets.anthropic)
  })

  test('weighs no more in a bundle for Node that imports statewire/core', async () => {
    const program = await bundle(pageOf('openai', 'statewire/core'), 'node')
    expect(filesIn(program, 'providers/presets')).toEqual([])
    expect(program.gzip).toBeLessThan(budgets.openai)
  })
})

describe('a program with a model string', () => {
  test('has every provider, for Node, and in a page that imports the registry', async () => {
    const pages = [bundle(named, 'node'), bundle(`import 'statewire/registry'\n${named}`, 'browser')]
    for (const program of await Promise.all(pages)) {
      expect(filesIn(program, 'providers/').length).toBeGreaterThan(80)
      expect(program.gzip).toBeLessThan(budgets.registry)
    }
  })
})

describe('the inspector', () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  const entries = Object.keys(exports)
    .filter((entry) => !/json$|inspector$|\*$|xstate6$/.test(entry))
    .map((entry) => entry.replace('.', 'statewire'))

  test.each(entries)('is in no bundle for Node that imports only %s', async (entry) => {
    const program = await bundle(`import * as all from '${entry}'\nconsole.log(all)`, 'node')
    expect(program.files.size).toBeGreaterThan(0)
    expect(filesIn(program, 'src/inspector/')).toEqual([])
    expect(filesIn(program, 'src/cli/')).toEqual([])
  })
})

test('a tool alone brings no agent', async () => {
  const page = await bundle("export { tool } from 'statewire'", 'browser')
  expect(filesIn(page, 'machines/')).toEqual([])
  expect(page.gzip).toBeLessThan(budgets.tool)
})

describe('a bundle that is run', () => {
  let simulator: Simulator
  beforeAll(async () => {
    simulator = await startSimulator({ delayMs: 0 })
  })
  afterAll(() => simulator.close())

  /** Runs a page, and returns what it prints. */
  const printed = async (program: string): Promise<string> => {
    const { code } = await bundle(program, 'browser')
    return new Promise((resolve, reject) => {
      const child = execFile(process.execPath, ['--input-type=module', '-'], (error, stdout, stderr) =>
        error ? reject(new Error(`${stdout}\n${stderr}`)) : resolve(stdout),
      )
      child.stdin?.end(code)
    })
  }

  const asks = (model: string): string => `
const options = { baseUrl: '${simulator.baseUrl}', apiKey: 'none' }
const { output } = await new Agent(${model}, options).send('What is the capital of Norway?')
console.log(output)`
  const imports = "import { Agent, registerProvider } from 'statewire'\n"
  const openai = "import { openai } from 'statewire/providers/openai'\n"

  test('answers with a value', async () => {
    expect(await printed(imports + openai + asks("openai('gpt-4.1')"))).toMatch(/\w/)
  })

  test('answers with the string of a provider that it registered', async () => {
    const registers = "registerProvider('openai', openai)"
    expect(await printed(imports + openai + registers + asks("'openai:gpt-4.1'"))).toMatch(/\w/)
  })

  test('answers with any string after the registry was imported', async () => {
    const registry = "import 'statewire/registry'\n"
    expect(await printed(imports + registry + asks("'openai-chat:gpt-4.1'"))).toMatch(/\w/)
  })

  test('says what to import where there is no registry', async () => {
    const error = await printed(imports + asks("'openai:gpt-4.1'")).catch(({ message }) => message)
    expect(error).toContain('There is no provider "openai" in this bundle.')
    expect(error).toContain("import 'statewire/registry'")
    expect(error).toContain('statewire/providers/openai')
  })
})
