// A second process on a store, for `tasks/readerLag.mjs`: reads a run, and reports when each chunk came.
import { builtModule } from './built.mjs'

const { openRuns, sqlite } = await import(builtModule('durable'))
const runs = await openRuns({ store: sqlite(process.argv[2]), agents: {} })

process.on('message', async (id) => {
  const run = await runs.get(id)
  const times = []
  for await (const { cursor } of run.stream()) times.push([cursor, Number(process.hrtime.bigint())])
  process.send(times)
})
process.on('disconnect', () => process.exit())
process.send('open')
