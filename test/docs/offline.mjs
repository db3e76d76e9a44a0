// Loaded before the code of a page: whatever provider the code names, its requests end at the simulator of this process.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { listProviders } from 'statewire'
import { startSimulator } from 'statewire/simulator'

// The undici that statewire has: a project of its own need not see it.
const { Client } = createRequire(import.meta.resolve('statewire'))('undici')

for (const { keyVariable } of listProviders())
  if (keyVariable) process.env[keyVariable] = 'a-key-for-documents'

process.env.PATH = `${join(import.meta.dirname, 'bin')}:${process.env.PATH}`

const simulator = await startSimulator({ delayMs: 0, preservedThinking: true })

// What the simulator does not have: vectors, one for each text.
const embeddings = createServer(async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const { input } = JSON.parse(Buffer.concat(parts).toString())
  const data = [input].flat().map((text, index) => ({ index, embedding: [text.length, 1, 0] }))
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ model: 'simulator', data, usage: { prompt_tokens: 1, total_tokens: 1 } }))
}).listen(0, '127.0.0.1')

const targetOf = (url) => {
  const { hostname, pathname } = new URL(url)
  if (hostname === '127.0.0.1') return undefined
  if (pathname.endsWith('/embeddings')) return `http://127.0.0.1:${embeddings.address().port}/`
  const [place] = /\/(chat\/completions|responses|messages|models)$/.exec(pathname) ?? []
  if (!place) throw new Error(`A document must not go to ${url}: the simulator has nothing like it.`)
  return simulator.baseUrl + place
}

const clients = new Map()
const clientOf = (origin) => clients.get(origin) ?? clients.set(origin, new Client(origin)).get(origin)

const { dispatch } = Client.prototype
Client.prototype.dispatch = function (options, handler) {
  const target = targetOf(new URL(options.path, options.origin))
  if (!target) return dispatch.call(this, options, handler)
  const { origin, pathname } = new URL(target)
  return dispatch.call(clientOf(origin), { ...options, origin, path: pathname }, handler)
}

const { fetch } = globalThis
globalThis.fetch = (url, init) => fetch(targetOf(String(url)) ?? url, init)

const fail = (error) => {
  console.error(`The block at ${globalThis.block} broke:`, error)
  process.exit(1)
}
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

/** The page is through: what it left open keeps the process alive, and the test finds that out. */
globalThis.endOfPage = async () => {
  embeddings.close()
  await Promise.all([...clients.values()].map((client) => client.destroy()))
  await simulator.close()
}
