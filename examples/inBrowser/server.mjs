// The page of App.tsx: bundled when this starts, served on loopback, with the simulator behind the same origin.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { startSimulator } from 'statewire/simulator'

const here = fileURLToPath(new URL('.', import.meta.url))
const simulator = await startSimulator()

const { outputFiles } = await build({
  entryPoints: [`${here}App.tsx`],
  bundle: true,
  format: 'esm',
  jsx: 'automatic',
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  write: false,
  logLevel: 'error',
})
const [script] = outputFiles

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>An agent in the browser</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem }
  article { border-left: 3px solid #8884; padding: 0 1rem; margin: 1.5rem 0 }
  article p { white-space: pre-wrap }
  .state { font: 0.8rem ui-monospace, monospace; color: #888 }
  .pending { border: 1px solid #c80; border-radius: 6px; padding: 0.5rem 1rem }
  form { display: flex; gap: 0.5rem } input { flex: 1 } input, button { font: inherit; padding: 0.3rem 0.7rem }
</style>
<body><div id="root"></div><script type="module" src="/app.js"></script></body>
</html>`

/** Passes a request on to the simulator: a browser may talk to its own origin only. In production your backend adds the key here. */
const pass = async (request, response) => {
  const parts = []
  for await (const part of request) parts.push(part)
  const answer = await fetch(new URL(request.url, simulator.baseUrl), {
    method: request.method,
    headers: { 'content-type': 'application/json' },
    body: Buffer.concat(parts),
  })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
  for await (const bytes of answer.body ?? []) response.write(bytes)
  response.end()
}

const server = createServer((request, response) => {
  const send = (type, body) => response.writeHead(200, { 'content-type': type }).end(body)
  if (request.url === '/') send('text/html', page)
  else if (request.url === '/app.js') send('text/javascript', script.contents)
  else if (request.url?.startsWith('/v1/')) pass(request, response).catch(() => response.destroy())
  else response.writeHead(404).end()
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(
    `Open http://127.0.0.1:${server.address().port}/ (${Math.round(script.contents.length / 1024)} KB of script); Ctrl+C ends it.`,
  )
})
