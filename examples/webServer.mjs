// A web server: POST /ask streams the answer as server-sent events; POST /decide approves a call, and the stream goes on.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { Agent, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

// Plays the provider, on this machine. With a key in OPENAI_API_KEY leave it out, and `baseUrl` too.
const simulator = await startSimulator()

const deleteFile = tool({
  name: 'delete_file',
  description: 'Deletes a file',
  input: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }, { context }) => `${context.user} deleted ${path}`,
})
const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools: [deleteFile] })
const runs = new Map()

const ask = async (request, response) => {
  const { prompt, user } = await json(request)
  const run = agent.start(prompt, { context: { user } })
  runs.set(run.id, run)
  const say = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.on('close', () => run.abort('the client has left'))
  run.on('tool.approval', ({ call }) => say({ run: run.id, asks: call }))
  try {
    for await (const { output } of run) if (output) say({ text: output })
  } catch (error) {
    say({ error: error.message })
  }
  runs.delete(run.id)
  response.end()
}

const decide = async (request, response) => {
  const { run, callId, approve } = await json(request)
  if (approve) runs.get(run)?.approve(callId)
  else runs.get(run)?.reject(callId)
  response.writeHead(204).end()
}

const server = createServer((request, response) => {
  const handle = { '/ask': ask, '/decide': decide }[request.url]
  if (!handle || request.method !== 'POST') return response.writeHead(404).end()
  handle(request, response).catch((error) => response.writeHead(400).end(error.message))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

// A client: asks, says yes to what the run asks for, and reads on. With `--serve` the server stays for clients of yours.
const url = `http://127.0.0.1:${server.address().port}`
const post = (path, body) => fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
const answer = await post('/ask', { prompt: 'Please delete the file notes.txt.', user: 'Ada' })
for await (const bytes of answer.body) {
  for (const line of new TextDecoder().decode(bytes).split('\n\n').filter(Boolean)) {
    const event = JSON.parse(line.slice('data: '.length))
    console.log(event.asks ? `asks for ${event.asks.name} ${JSON.stringify(event.asks.arguments)}` : event)
    if (event.asks) await post('/decide', { run: event.run, callId: event.asks.id, approve: true })
  }
}
if (process.argv.includes('--serve')) console.log(`Listening on ${url}`)
else {
  server.close()
  await simulator.close()
}
