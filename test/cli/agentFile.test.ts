// `run`, `chat` and `inspect` with the agent that a file exports.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { splitFile } from '../../src/cli/moduleFile.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { folder, type SpawnOptions, statewire } from './spawned.ts'
import { ctrlD, hasScript, Terminal } from './Terminal.ts'

/** A project with statewire installed, and a file in it that exports an agent, with a tool that asks first. */
const project = async (): Promise<{ cwd: string; close: () => Promise<void> }> => {
  const cwd = await folder()
  const { baseUrl, close } = await startSimulator({ delayMs: 0 })
  await mkdir(join(cwd, 'node_modules'))
  await symlink(resolve('.'), join(cwd, 'node_modules/statewire'))
  const body = (typed: string) => `
    export const planner${typed} = new Agent('openai:simulator', {
      baseUrl: '${baseUrl}',
      apiKey: 'simulator',
      tools: [
        tool({
          name: 'book_table',
          description: 'Books a table in a city',
          input: { jsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
          needsApproval: true,
          execute: ({ city }) => 'A table in ' + city + ' is booked.',
        }),
        tool({
          name: 'ask_guest',
          description: 'Asks the guest for a wish',
          input: { jsonSchema: { type: 'object', properties: {} } },
        }),
      ],
    })`
  const files: Record<string, string> = {
    'agent.mjs': `import { Agent, tool } from 'statewire'\n${body('')}`,
    'agent.cjs': `const { Agent, tool } = require('statewire')\n${body('').replace('export const planner', 'exports.planner')}`,
    'agent.ts': `import { Agent, tool } from 'statewire'\nlet word: string = 'typed'\n${body(': Agent')}`,
    'two.mjs': `export * from './agent.mjs'\nexport { planner as other } from './agent.mjs'\nexport const size = 3`,
    'none.mjs': 'export const size = 3',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text)
  return { cwd, close }
}

const withProject = async (
  use: (
    ask: (args: string[], options?: SpawnOptions) => ReturnType<typeof statewire>,
    cwd: string,
  ) => Promise<void>,
) => {
  const { cwd, close } = await project()
  try {
    await use((args, options) => statewire(args, { cwd, ...options }), cwd)
  } finally {
    await close()
  }
}

describe('the agent of a file', () => {
  it('answers in run, chat and inspect, and what is piped in is the prompt', () =>
    withProject(async (ask) => {
      const prompt = 'Book a table in Oslo'
      const [run, piped, chat, inspect] = await Promise.all([
        ask(['run', '--approve', './agent.mjs', prompt]),
        ask(['run', '--approve', 'agent.mjs'], { input: prompt }),
        ask(['chat', '--approve', 'agent.mjs'], { input: `${prompt}\n/model openai:x\n` }),
        ask(['inspect', '--approve', 'agent.mjs', prompt]),
      ])
      for (const { code, stdout } of [run, piped, chat, inspect]) {
        expect(stdout).toContain('A table in Oslo is booked.')
        expect(code).toBe(0)
      }
      expect(run.stderr).toBe('Agent: ./agent.mjs\n')
      expect(chat.stderr).toContain('agent.mjs has its own model and tools.')
      expect(inspect.stdout).toMatch(/Inspector: \S+\nAgent: agent\.mjs\n[\s\S]*· AwaitingApproval/)
    }))

  it('learns that there is no terminal to allow a call, or to answer one', () =>
    withProject(async (ask) => {
      const [run, chat, asked] = await Promise.all([
        ask(['run', 'agent.mjs', 'Book a table in Oslo']),
        ask(['chat', 'agent.mjs'], { input: 'Book a table in Oslo\n' }),
        ask(['run', 'agent.mjs', 'Ask the guest for a wish']),
      ])
      for (const { stdout } of [run, chat])
        expect(stdout).toContain('There is no terminal to ask for approval. --approve allows every call.')
      expect(asked.stdout).toContain('There is no terminal to answer this.')
    }))

  it('is the one named with --export, and what does not fit is refused', () =>
    withProject(async (ask) => {
      const problem = async (...args: string[]) => {
        const { code, stderr } = await ask(args)
        return `${code} ${stderr.trim()}`
      }
      const named = await ask(['run', '-q', 'two.mjs', '--export', 'other', 'Count to 3'])
      expect(named).toEqual({ code: 0, stdout: '1 2 3\n', stderr: '' })
      expect(await problem('run', 'two.mjs', 'Hi')).toMatch(
        /^2 .* exports several agents: choose one with --export other\|planner$/,
      )
      expect(await problem('run', 'two.mjs', '-e', 'size', 'Hi')).toContain('"size" is not an agent.')
      expect(await problem('run', 'none.mjs', 'Hi')).toBe(
        '2 statewire: none.mjs exports no agent. It exports: size.',
      )
      expect(await problem('run', './missing.ts', 'Hi')).toBe('2 statewire: There is no file ./missing.ts.')
      expect(await problem('run', 'agent.mjs', '--temperature', '1', 'Hi')).toBe(
        '2 statewire: agent.mjs has its own model, tools and settings: leave --temperature out.',
      )
      expect(await problem('chat', 'Hi')).toContain('chat takes no prompt')
    }))

  it('may come from another copy of statewire in run; chat says what to do', () =>
    withProject(async (ask) => {
      const run = await ask(['run', '--approve', 'agent.cjs', 'Book a table in Oslo'])
      expect(run.stdout).toContain('A table in Oslo is booked.')
      const chat = await ask(['chat', 'agent.cjs'], { input: 'Hi\n' })
      expect(chat.code).toBe(2)
      expect(chat.stderr).toContain('imports another copy of statewire')
    }))

  it('may be TypeScript where Node or a loader reads it; otherwise the error says what to do', () =>
    withProject(async (ask, cwd) => {
      const plain = await ask(['run', '-q', 'agent.ts', 'Count to 3'])
      // Which Node reads TypeScript by itself is its own affair.
      if (plain.code !== 0) {
        expect(plain.code).toBe(2)
        expect(plain.stderr).toMatch(/does not read TypeScript\. Node 22\.18 or newer does\. .*--import tsx/)
      } else expect(plain.stdout).toBe('1 2 3\n')
      await writeFile(join(cwd, 'loader.mjs'), loader)
      const env = { NODE_OPTIONS: `--import ${pathToFileURL(join(cwd, 'loader.mjs'))}` }
      const loaded = await ask(['run', '-q', 'agent.ts', 'Count to 3'], { env })
      expect(loaded).toEqual({ code: 0, stdout: '1 2 3\n', stderr: '' })
    }))
})

/** What tsx does, in short: esbuild takes the types away. */
const loader = `
  import { register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    import { readFile } from 'node:fs/promises'
    import { transform } from '${import.meta.resolve('esbuild')}'
    export const load = async (url, context, next) => {
      if (!url.endsWith('.ts')) return next(url, context)
      const { code } = await transform(await readFile(new URL(url), 'utf8'), { loader: 'ts' })
      return { format: 'module', source: code, shortCircuit: true }
    }\`))`

describe.skipIf(!hasScript)('at a terminal', () => {
  it('asks for approvals, and for the answer of a tool that has none', async () => {
    const { cwd, close } = await project()
    try {
      const chat = new Terminal(['chat', 'agent.mjs'], { cwd })
      await chat.sees(/> $/)
      chat.types('Book a table in Rome\r')
      await chat.sees(/Allow book_table\(city: Rome\)\? \[yes\/no\/edit\/always\] $/)
      chat.types('y\r')
      await chat.sees(/A table in Rome is booked\.[\s\S]*> $/)
      chat.types('Ask the guest for a wish\r')
      await chat.sees(/Your answer to ask_guest\(\): $/)
      chat.types('A window seat\r')
      await chat.sees(/A window seat\.[\s\S]*> $/)
      chat.types(ctrlD)
      expect(await chat.code).toBe(0)
    } finally {
      await close()
    }
  })
})

it('distinguishes a file from a prompt', async () => {
  const spaced = join(await folder(), 'my agent.ts')
  expect(splitFile([spaced, 'Hi'])).toEqual({ file: undefined, words: [spaced, 'Hi'] })
  await writeFile(spaced, '')
  expect(splitFile([spaced, 'Hi'])).toEqual({ file: spaced, words: ['Hi'] })
  expect(splitFile(['agents\\planner.ts', 'Hi'])).toEqual({ file: 'agents\\planner.ts', words: ['Hi'] })
  expect(splitFile(['./agent.ts', 'Hi', 'there'])).toEqual({ file: './agent.ts', words: ['Hi', 'there'] })
  expect(splitFile(['package.json'])).toEqual({ file: undefined, words: ['package.json'] })
  expect(splitFile(['node.js'])).toEqual({ file: undefined, words: ['node.js'] })
  expect(splitFile(['What does ./agent.ts'])).toEqual({ file: undefined, words: ['What does ./agent.ts'] })
  expect(splitFile([])).toEqual({ file: undefined, words: [] })
})
