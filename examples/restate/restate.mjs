// Runs on Restate: `replaySegment` and three functions. It needs what the other examples do not:
//   npm install @restatedev/restate-server @restatedev/restate-sdk@1.14
// Without arguments this script starts the server of Restate, and a service whose process is killed while a tool runs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, tool } from 'statewire'
import { replaySegment } from 'statewire/durable'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const serve = async (log, baseUrl, port) => {
  const restate = await import('@restatedev/restate-sdk')
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    onInterrupted: 'rerun',
    execute: async ({ city }, { attempt }) => {
      appendFileSync(log, `process ${process.pid} looks at ${city}, attempt ${attempt}\n`)
      await sleep(1500)
      return `It rains in ${city}.`
    },
  })
  const agent = new Agent('openai:simulator', { baseUrl, tools: [weather] })

  const segment = async (context, prompt) => {
    // Restate waits for one step at a time: the calls of a turn run one after the other.
    let last = Promise.resolve()
    const record = (name, run) => {
      last = last.then(() => context.run(name, run))
      return last
    }
    const engine = {
      step: record,
      // It has no streams: send the chunks to the listener. What is not live is a step, so that it is sent once.
      write: async (chunks, isLive) => {
        const send = async () =>
          appendFileSync(log, `shown: ${JSON.stringify(chunks.map(({ output }) => output).join(''))}\n`)
        await (isLive ? send() : record('write', send))
      },
      // Commands would be kept in the state of a second object, and read here.
      commands: async () => [],
    }
    const input = { prompt, id: context.key }
    const { output } = await replaySegment(agent, engine, async () => ({ from: { input }, seen: 0 }))
    return output.output
  }
  await restate.serve({
    services: [restate.object({ name: 'runs', handlers: { segment } })],
    port: Number(port),
  })
  console.log('ready')
}

const [role, ...args] = process.argv.slice(2)
if (role === 'serve') await serve(...args)
else {
  const simulator = await startSimulator()
  const folder = await mkdtemp(join(tmpdir(), 'restate-'))
  const log = join(folder, 'log.txt')
  const read = () => readFile(log, 'utf8').catch(() => '')
  const require = createRequire(import.meta.url)
  const binary = require.resolve('@restatedev/restate-server/lib/index.js')
  const server = spawn(process.execPath, [binary, '--base-dir', folder], { stdio: 'ignore' })
  const startService = async () => {
    const script = [fileURLToPath(import.meta.url), 'serve', log, simulator.baseUrl, '9081']
    const service = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(service.stdout, 'data')
    return service
  }
  const post = async (url, body) =>
    fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })

  let service = await startService()
  while (
    !(await post('http://127.0.0.1:9070/deployments', { uri: 'http://127.0.0.1:9081' }).catch(() => ({}))).ok
  )
    await sleep(300)
  const answer = post('http://127.0.0.1:8080/runs/job-7/segment', 'Weather in Oslo?')
  while (!(await read()).includes('looks at')) await sleep(50)
  service.kill('SIGKILL')
  service = await startService()
  console.log(await (await answer).json())
  console.log(await read())
  service.kill()
  server.kill()
  await simulator.close()
  await rm(folder, { recursive: true, force: true })
}
