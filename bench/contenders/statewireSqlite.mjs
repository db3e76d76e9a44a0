import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtModule } from '../built.mjs'
import { agentOf } from './statewire.mjs'

/** Asks an agent of some runs, and reads the stream of each. */
export const asking =
  (runs) =>
  async (prompt, { onMessages } = {}) => {
    const run = await runs.start('agent', prompt)
    const held = []
    let text = ''
    for await (const { chunk } of run.stream()) {
      text += chunk.output
      if (chunk.messages.length === 0) continue
      held.push(...chunk.messages)
      onMessages?.(chunk.messages)
    }
    return { text, held }
  }

/** Runs that are kept in a file: `for await` over the stream of each. `driver`: another way to SQLite. */
export const openSqlite = async ({ driver, ...options }, synchronous) => {
  const { openRuns, sqlite } = await import(builtModule('durable'))
  const folder = await mkdtemp(join(tmpdir(), 'statewire-bench-'))
  const path = join(folder, 'runs.db')
  const reopen = () => {
    const store = sqlite(path, { synchronous, ...(driver && { driver }) })
    return openRuns({ store, agents: { agent: agentOf(options) } })
  }
  const runs = await reopen()
  const remove = () => rm(folder, { recursive: true })
  return {
    path,
    runs,
    ask: asking(runs),
    /** Opens the file again, after its runs were closed. */
    reopen,
    remove,
    async close() {
      await runs.close()
      await remove()
    },
  }
}
