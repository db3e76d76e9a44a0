import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import Database from 'libsql'
import { agentWith } from './langgraph.mjs'

/**
 * The same agent with its checkpoints in a SQLite file, a thread for each run. libsql has the interface of better-sqlite3,
 * and comes as a binary from the registry: that of better-sqlite3 is fetched from elsewhere, or compiled.
 */
export const open = async (options) => {
  const folder = await mkdtemp(join(tmpdir(), 'langgraph-bench-'))
  const checkpointer = new SqliteSaver(new Database(join(folder, 'runs.db')))
  return {
    ...agentWith(options, checkpointer),
    close: () => rm(folder, { recursive: true }),
  }
}
