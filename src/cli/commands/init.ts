import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { dependencies, peerDependencies, version } from '../../../package.json'
import type { Command } from '../command.ts'
import { exit, UsageError } from '../outcome.ts'

export const init: Command = {
  name: 'init',
  summary: 'Writes a small project with an agent',
  operands: '[folder]',
  options: {},
  details: [
    'It has an agent, a tool, a test that needs no key, and a server, which asks a',
    'simulator until OPENAI_API_KEY is set. Nothing that exists is overwritten.',
  ],
  run: async ({ words, screen }) => {
    const [folder = '.', ...more] = words
    if (more.length > 0) throw new UsageError('init takes one folder.')
    const home = resolve(folder)
    const files = Object.entries(projectFiles(basename(home)))
    const known = files.map(([name]) => name).filter((name) => existsSync(join(home, name)))
    if (known.length > 0)
      throw new UsageError(
        `${folder} has ${known.join(', ')} already: name another folder, such as my-agent.`,
      )
    await mkdir(home, { recursive: true })
    for (const [name, text] of files) {
      await writeFile(join(home, name), text, { flag: 'wx' })
      screen.line(`  ${name}`)
    }
    const place = relative(process.cwd(), home)
    screen.line(`\nNext:\n${place === '' ? '' : `  cd ${place}\n`}  npm install\n  npm test\n  npm start`)
    return exit.complete
  },
}

/** The files of a new project. */
const projectFiles = (folder: string): Record<string, string> => ({
  'package.json': `${JSON.stringify(manifest(folder), null, 2)}\n`,
  '.gitignore': 'node_modules/\n*.db*\n',
  'weather.js': weather,
  'agent.js': agent,
  'agent.test.js': test,
  'server.js': server,
})

const manifest = (folder: string) => ({
  // What npm takes as a name.
  name:
    folder
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, '-')
      .replace(/^[._-]+/, '') || 'my-agent',
  private: true,
  type: 'module',
  scripts: { start: 'node server.js', test: 'node --test' },
  dependencies: { statewire: `^${version}`, xstate: peerDependencies.xstate, zod: dependencies.zod },
})

const weather = `import { tool } from 'statewire'
import { z } from 'zod'

/** A tool: its arguments are checked before it runs, and the model sees what it returns or throws. */
export const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
})
`

const agent = `import { Agent } from 'statewire'
import { weather } from './weather.js'

/** The agent, with any model: 'openai:gpt-6-luna', 'anthropic:claude-sonnet-5-5', 'ollama:qwen3:8b', or a script in a test. */
export const createAgent = (model, options = {}) =>
  new Agent(model, { system: 'Be brief.', tools: [weather], ...options })
`

const test = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedModel } from 'statewire/testing'
import { createAgent } from './agent.js'

test('looks the weather up before it answers', async () => {
  const model = scriptedModel([
    [{ toolCall: { name: 'get_weather', arguments: { city: 'Oslo' } } }],
    'It is 21 °C in Oslo.',
  ])
  const { answer, messages } = await createAgent(model).send('What is the weather in Oslo?')
  assert.equal(answer, 'It is 21 °C in Oslo.')
  assert.equal(messages[2].parts[0].result, '{"city":"Oslo","celsius":21}')
  model.assertDone()
})
`

const server = `import { createServer } from 'node:http'
import { startSimulator } from 'statewire/simulator'
import { nodeListener, openaiHandler } from 'statewire/ui'
import { createAgent } from './agent.js'

// A real model once its key is set; until then a simulator on this machine answers by rules.
const createOwnAgent = async () => {
  if (process.env.OPENAI_API_KEY) return createAgent('openai:gpt-6-luna')
  const { baseUrl } = await startSimulator()
  return createAgent('openai:simulator', { baseUrl })
}

// The API of OpenAI, with the agent as its model. For useChat of the AI SDK, use uiMessageHandler(agent) instead.
const handler = openaiHandler({ agent: await createOwnAgent() })
const server = createServer(nodeListener(handler)).listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  const { port } = server.address()
  console.log('Ask it:')
  console.log(
    "curl http://127.0.0.1:" + port + "/v1/chat/completions -H 'content-type: application/json' -d " +
      "'" + JSON.stringify({ model: 'agent', messages: [{ role: 'user', content: 'Weather in Oslo?' }] }) + "'",
  )
})
`
