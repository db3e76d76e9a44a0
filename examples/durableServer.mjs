// A server whose runs survive `kill -9`. Without arguments this script plays the user of the server, and its killer:
// it starts a job that needs an approval, kills the server, starts it again, and approves.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, tool } from 'statewire'
import { openRuns, sqlite } from 'statewire/durable'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const serve = async (file, baseUrl) => {
  const deleteFile = tool({
    name: 'delete_file',
    description: 'Delete a file',
    input: z.object({ path: z.string() }),
    needsApproval: true,
    execute: ({ path }) => {
      console.log(`  server ${process.pid} deletes ${path}`)
      return `${path} is deleted`
    },
  })
  const janitor = new Agent('openai:simulator', { baseUrl, tools: [deleteFile] })
  const runs = await openRuns({ store: sqlite(file), agents: { janitor } })

  // POST /job-7?prompt=…, POST /job-7?approve=…&question=…, GET /job-7
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    const id = pathname.slice(1)
    const { prompt, approve, question } = Object.fromEntries(searchParams)
    try {
      if (prompt) await runs.start('janitor', prompt, { id })
      // With its question, a yes that is sent twice counts once, whatever happened in between.
      if (approve) await runs.send(id, { type: 'tool.approve', callId: approve, question })
      const run = await runs.get(id)
      response.end(JSON.stringify(await run.result))
    } catch (error) {
      response.writeHead(400).end(JSON.stringify({ error: String(error) }))
    }
  })
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`))
}

const [role, ...args] = process.argv.slice(2)
if (role === 'serve') await serve(...args)
else {
  const simulator = await startSimulator()
  const folder = await mkdtemp(join(tmpdir(), 'durable-'))

  const startServer = async () => {
    const script = [fileURLToPath(import.meta.url), 'serve', join(folder, 'runs.db'), simulator.baseUrl]
    const server = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(server.stdout, 'data')
    server.stdout.pipe(process.stdout)
    const ask = async (query) =>
      (await fetch(`http://127.0.0.1:${/port (\d+)/.exec(line)[1]}/job-7${query}`)).json()
    return { server, ask }
  }

  const first = await startServer()
  const { pendingApproval } = await first.ask(
    `?prompt=${encodeURIComponent('Please delete the file notes.txt.')}`,
  )
  const [call] = pendingApproval.calls
  console.log(`job-7 waits for the approval of ${call.name}`, call.arguments)

  first.server.kill('SIGKILL')
  await once(first.server, 'close')
  console.log('the server was killed')

  const second = await startServer()
  const { output } = await second.ask(`?approve=${call.id}&question=${call.question}`)
  console.log('job-7:', output)
  second.server.kill('SIGKILL')
  await simulator.close()
  await rm(folder, { recursive: true })
}
