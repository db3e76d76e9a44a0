// A tool that a person must approve. The run is stored in a file; another process decides and continues it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const deleteFile = tool({
  name: 'delete_file',
  description: 'Delete a file',
  input: z.object({ path: z.string() }),
  needsApproval: true, // or a function of the arguments: ({ path }) => !path.startsWith('/tmp/')
  execute: ({ path }) => {
    console.log(`  process ${role}: deletes ${path}`)
    return `${path} is deleted`
  },
})

/** Both processes make the same agent: a stored run has data only, no code. */
const makeAgent = (baseUrl) => new Agent('openai:simulator', { baseUrl, tools: [deleteFile] })

const [role = 'asks', file, baseUrl] = process.argv.slice(2)

if (role === 'asks') {
  const simulator = await startSimulator()
  const folder = await mkdtemp(join(tmpdir(), 'approval-'))
  const stored = join(folder, 'pending.json')

  const { finishReason, pendingApproval } = await makeAgent(simulator.baseUrl).send(
    'Please delete the files notes.txt and old.log.',
  )
  console.log(`process asks: stopped with "${finishReason}", waiting for approval of`)
  for (const call of pendingApproval.calls) console.log(`  ${call.name}`, call.arguments)
  await writeFile(stored, JSON.stringify(pendingApproval))

  const second = spawn(
    process.execPath,
    [fileURLToPath(import.meta.url), 'decides', stored, simulator.baseUrl],
    { stdio: 'inherit' },
  )
  await once(second, 'close')
  await rm(folder, { recursive: true })
  await simulator.close()
} else {
  const pending = JSON.parse(await readFile(file, 'utf8'))
  const [first, ...others] = pending.calls
  const result = await makeAgent(baseUrl).resume(pending, {
    [first.id]: true,
    // The model learns the reason; a call without a decision stays pending.
    ...Object.fromEntries(
      others.map(({ id }) => [id, { approve: false, reason: 'Logs are kept for a year.' }]),
    ),
  })
  console.log('process decides:', result.output)
}
