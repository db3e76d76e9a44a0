import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { prompt } from '../tool.mjs'

const script = fileURLToPath(new URL('../lagReader.mjs', import.meta.url))

/** Measures how much later each chunk of a run arrives in another process. */
export const readerLag = async ({ open }) => {
  const contender = await open()
  const reader = fork(script, [contender.path], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(reader, 'message')
  const run = await contender.runs.start('agent', prompt)
  reader.send(run.id)
  const reported = once(reader, 'message')
  const here = new Map()
  for await (const { cursor } of run.stream()) here.set(cursor, now())
  const [there] = await reported
  const lags = there
    .filter(([cursor]) => here.has(cursor))
    .map(([cursor, time]) => (time - here.get(cursor)) / 1e6)
    .sort((a, b) => a - b)
  reader.disconnect()
  await contender.close()
  const at = (part) => lags[Math.min(lags.length - 1, Math.floor(lags.length * part))]
  return { median: at(0.5), p95: at(0.95) }
}

/** The time in ns, by the machine's monotonic clock, which all processes share. */
const now = () => Number(process.hrtime.bigint())
