// A chat with a server: useChat in the page (App.tsx), an agent here, chats in a file. Reload the page, or restart this, at any moment.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Agent, tool } from 'statewire'
import { openRuns, sqlite } from 'statewire/durable'
import { startSimulator } from 'statewire/simulator'
import { nodeListener, uiMessageHandler } from 'statewire/ui'
import { z } from 'zod'

// Stands in for a provider, on this machine. With a key in OPENAI_API_KEY leave it out, and `baseUrl` too.
const simulator = await startSimulator({ delayMs: 40 })

const assistant = new Agent('openai:simulator', {
  baseUrl: simulator.baseUrl,
  tools: [
    tool({
      name: 'get_weather',
      description: 'Current weather in a city',
      input: z.object({ city: z.string() }),
      execute: ({ city }) => ({ city, celsius: 21 }),
    }),
    tool({
      name: 'send_postcard',
      description: 'Send a postcard to a city',
      input: z.object({ city: z.string() }),
      needsApproval: true,
      execute: ({ city }) => `A postcard is on its way to ${city}.`,
    }),
    // Answered by the page.
    tool({ name: 'get_time_zone', description: 'The time zone of the user' }),
  ],
})

const runs = await openRuns({ store: sqlite(process.env.CHATS ?? 'chats.db'), agents: { assistant } })
// With users, add `authorize: (request, chatId) => …`: without it, anyone who knows the id of a chat may read it.
const chat = nodeListener(uiMessageHandler(runs))

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL('App.tsx', import.meta.url))],
  bundle: true,
  format: 'esm',
  jsx: 'automatic',
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  write: false,
  outdir: '.',
  logLevel: 'error',
})
const fileOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).contents

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A chat</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/app.css">
<body><div id="root"></div><script type="module" src="/app.js"></script></body>
</html>`

const server = createServer((request, response) => {
  const send = (type, body) => response.writeHead(200, { 'content-type': type }).end(body)
  if (request.url?.startsWith('/api/chat')) chat(request, response)
  else if (request.url === '/') send('text/html', page)
  else if (request.url === '/app.js') send('text/javascript', fileOf('.js'))
  else if (request.url === '/app.css') send('text/css', fileOf('.css'))
  else response.writeHead(404).end()
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/; Ctrl+C ends it.`)
})
