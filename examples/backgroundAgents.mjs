// A lead with three researchers in the background. Without arguments this script starts the lead in another process, kills
// that process while the researchers are at work, and lets a third one continue: every result arrives, and arrives once.
// With STATEWIRE_INSPECT=1 each process prints the address of an inspector, and leaves you some time to look at the tree.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, tool } from 'statewire'
import { openRuns, sqlite } from 'statewire/durable'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const timeToLook = process.env.STATEWIRE_INSPECT ? 20_000 : 0
const question = 'Research the weather in Oslo. Visit the hotels in Rome. Read the news in Lima.'

const work = async (file, baseUrl, isSlow) => {
  // A researcher has one tool, which takes its time in the process that is killed.
  const researcher = (name, subject, answer) => {
    const find = tool({
      name: `get_${subject}`,
      description: 'Find a fact about a city',
      input: z.object({ city: z.string() }),
      onInterrupted: 'rerun',
      execute: async ({ city }) => {
        console.log(`  process ${process.pid}: ${name} is at work`)
        if (isSlow) await pause(60_000)
        return { city, ...answer }
      },
    })
    return new Agent('openai:simulator', { baseUrl, tools: [find] })
  }
  const tools = [
    ['research_weather', 'weather', { celsius: 21 }],
    ['visit_hotels', 'hotels', { stars: 4 }],
    ['read_news', 'news', { headline: 'All is well' }],
  ].map(([name, subject, answer]) =>
    researcher(name, subject, answer).asTool({
      name,
      description: 'Find something in a city',
      background: true,
    }),
  )
  const lead = new Agent('openai:simulator', { baseUrl, tools })
  const runs = await openRuns({ store: sqlite(file), agents: { lead } })
  const run = await runs.start('lead', question, { id: 'job' })
  const { messages, finishReason } = await run.result
  for (const { metadata, parts } of messages)
    if (metadata?.task) console.log(`${metadata.task.tool} ${metadata.task.status}: ${parts[0].text}`)
  console.log(`${messages.filter(({ metadata }) => metadata?.task).length} results, ${finishReason}`)
  await pause(timeToLook)
  await runs.close()
}

const play = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'statewire-'))
  const simulator = await startSimulator()
  const start = (...more) => {
    const script = fileURLToPath(import.meta.url)
    const child = spawn(process.execPath, [script, join(folder, 'runs.db'), simulator.baseUrl, ...more])
    child.stderr.pipe(process.stderr)
    return child
  }
  const first = start('slow')
  let seen = ''
  for await (const chunk of first.stdout) {
    seen += chunk
    if (seen.match(/is at work/g)?.length === 3) break
  }
  process.stdout.write(seen)
  await pause(timeToLook)
  first.kill('SIGKILL')
  console.log('killed')
  const second = start()
  second.stdout.pipe(process.stdout)
  await once(second, 'exit')
  await simulator.close()
  await rm(folder, { recursive: true })
}

const [, , file, baseUrl, slow] = process.argv
await (file ? work(file, baseUrl, slow === 'slow') : play())
