import { prompt } from '../tool.mjs'
import { heapUsed } from './heap.mjs'

/** Stored runs that all wait for a person: heap of each, and the time until another process has them all. */
export const waiting = async ({ open, count }) => {
  const contender = await open({ needsApproval: true })
  const { runs } = contender
  // The first brings what all share.
  await waitingRun(runs)
  const before = await heapUsed()
  for (let run = 0; run < count; run += 1) await waitingRun(runs)
  const run = ((await heapUsed()) - before) / count / 1024
  await runs.close()
  const begin = performance.now()
  const again = await contender.reopen()
  const found = await again.list({ status: 'waiting', limit: count + 1 })
  const opened = performance.now() - begin
  if (found.length !== count + 1) throw new Error(`${found.length} runs wait instead of ${count + 1}`)
  await again.close()
  await contender.remove()
  return { run, opened }
}

const waitingRun = async (runs) => {
  const run = await runs.start('agent', prompt)
  const { status } = await run.result
  if (status !== 'waiting') throw new Error(`a run is ${status} instead of waiting`)
}
