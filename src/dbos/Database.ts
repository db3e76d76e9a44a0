import { createRequire } from 'node:module'
import { ConfigurationError, describeThrown, OrchestrationError } from '../messages/errors.ts'

const packageName = '@dbos-inc/dbos-sdk'

/** The SDK of DBOS. */
export type Dbos = typeof import('@dbos-inc/dbos-sdk')

/** The part of `pg` that is used here. */
export type Pool = {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>
  connect(): Promise<Pick<Pool, 'query'> & { release(error?: Error): void }>
  on(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
}

type PoolOptions = { connectionString: string; max: number; connectionTimeoutMillis: number }

/** Loads DBOS, and the driver for Postgres that it brings. Only users of this entry install them. */
export const loadDbos = async (): Promise<{ sdk: Dbos; Pool: new (options: PoolOptions) => Pool }> => {
  try {
    const sdk = await import(/* webpackIgnore: true */ '@dbos-inc/dbos-sdk')
    const here = createRequire(import.meta.url)
    const pg: { Pool: new (options: PoolOptions) => Pool } = createRequire(here.resolve(packageName))('pg')
    return { sdk, Pool: pg.Pool }
  } catch (cause) {
    throw new ConfigurationError(
      `The package ${packageName} is needed for runs on DBOS: npm install ${packageName}.`,
      {
        cause,
      },
    )
  }
}

/** A row as Postgres gives it. */
export type Row = Readonly<Record<string, unknown>>

export type Query = (sql: string, ...values: readonly unknown[]) => Promise<Row[]>

const connectMs = 10_000
const againMs = 500
const lockedMs = 50
const noSuchDatabase = '3D000'
/** Codes of Postgres for a transaction that was undone because of others: a deadlock, or a conflict. */
const gaveWay = ['40P01', '40001']
/** Codes of Postgres for a database that exists, the second when two processes make it at the same time. */
const databaseExists = ['42P04', '23505']

/** A connection to the tables beside those of DBOS, in the same database. Its errors never hold the password. */
export class Database {
  readonly #Pool: new (
    options: PoolOptions,
  ) => Pool
  readonly #url: string
  readonly #host: string
  readonly #name: string
  readonly #pool: Pool
  readonly #hide: (text: string) => string
  readonly #outages = new WeakSet<Error>()

  constructor(PoolClass: new (options: PoolOptions) => Pool, url: string) {
    this.#Pool = PoolClass
    this.#url = url
    this.#pool = new PoolClass({ connectionString: url, max: 6, connectionTimeoutMillis: connectMs })
    // The pool replaces a connection that breaks while it is idle.
    this.#pool.on('error', () => {})
    const { password, host, pathname, searchParams } = new URL(url)
    const written = [password, searchParams.get('password'), searchParams.get('sslpassword')]
    const secrets = [url, ...written.flatMap((each) => [each ?? '', decoded(each ?? '')])].filter(
      (secret) => secret !== '',
    )
    this.#hide = (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '***'), text)
    this.#host = host
    this.#name = decoded(pathname.slice(1))
  }

  readonly query: Query = async (sql, ...values) => {
    try {
      return rowsOf(await this.#pool.query(sql, values))
    } catch (thrown) {
      throw this.failure(thrown)
    }
  }

  /** Runs several statements that count together or not at all. `work` is done again if Postgres gave way to others. */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#attempt(work)
      } catch (thrown) {
        if (!gaveWay.includes(codeOf(thrown))) throw this.#known(thrown)
      }
    }
  }

  async #attempt<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((thrown) => {
      throw this.failure(thrown)
    })
    try {
      await client.query('BEGIN')
      const done = await work(async (sql, ...values) => rowsOf(await client.query(sql, values)))
      await client.query('COMMIT')
      client.release()
      return done
    } catch (thrown) {
      // A connection that cannot even roll back is useless.
      const broken = await client.query('ROLLBACK').then(
        () => undefined,
        (error: Error) => error,
      )
      client.release(broken)
      throw thrown
    }
  }

  /**
   * Does something that only one process may do at a time. The lock is not part of a transaction, and no process waits in
   * one for it: some changes of tables wait for every transaction, and would wait for ever.
   */
  async exclusively<T>(lock: number, work: () => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((thrown) => {
      throw this.failure(thrown)
    })
    try {
      for (;;) {
        const [got] = rowsOf(await client.query('SELECT pg_try_advisory_lock($1) AS got', [lock]))
        if (got?.got === true) break
        await pause(lockedMs, new AbortController().signal)
      }
      return await work()
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch(() => {})
      client.release()
    }
  }

  /** Makes the database if it is missing, and if this process may. Says what to do if Postgres cannot be reached. */
  async check(mayCreate: boolean): Promise<void> {
    try {
      await this.#pool.query('SELECT 1').catch((thrown) => {
        if (codeOf(thrown) !== noSuchDatabase) throw thrown
        if (!mayCreate) throw this.noRuns()
        return this.#create()
      })
    } catch (thrown) {
      if (thrown instanceof ConfigurationError) throw thrown
      const code = codeOf(thrown)
      const problem = code.startsWith('28')
        ? `Postgres at ${this.#host} refuses the user or the password of databaseUrl.`
        : `Postgres does not answer at ${this.#host}: is it running, and is databaseUrl right? (${this.#said(thrown)})`
      throw new ConfigurationError(problem)
    }
  }

  /** The error for a process that would read runs where there are none. */
  noRuns(): ConfigurationError {
    return new ConfigurationError(
      `There are no runs in the database "${this.#name}" at ${this.#host}: is databaseUrl right? A program with agents makes their tables.`,
    )
  }

  #known(thrown: unknown): unknown {
    if (thrown instanceof OrchestrationError) return thrown
    return codeOf(thrown) !== '' || isAway(thrown) ? this.failure(thrown) : thrown
  }

  /** Makes an error of a failure, without the password. */
  failure(thrown: unknown): OrchestrationError {
    const failure = new OrchestrationError(`Postgres at ${this.#host} failed: ${this.#said(thrown)}`)
    if (isAway(thrown)) this.#outages.add(failure)
    return failure
  }

  /** Retries something while Postgres is away, as DBOS does with its own queries. */
  async insist<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (thrown) {
        if (signal.aborted || !(thrown instanceof OrchestrationError) || !this.#outages.has(thrown))
          throw thrown
        await pause(againMs, signal)
      }
    }
  }

  /** A name of the database that no other one has, without the password. */
  get place(): string {
    return `postgresql://${this.#host}/${this.#name}`
  }

  end(): Promise<void> {
    return this.#pool.end()
  }

  async #create(): Promise<void> {
    const url = new URL(this.#url)
    url.pathname = '/postgres'
    const pool = new this.#Pool({ connectionString: url.href, max: 1, connectionTimeoutMillis: connectMs })
    try {
      await pool.query(`CREATE DATABASE "${this.#name.replaceAll('"', '""')}"`)
    } catch (thrown) {
      // Another process that begins at the same time may have been faster.
      if (!databaseExists.includes(codeOf(thrown))) throw thrown
    } finally {
      await pool.end()
    }
  }

  #said(thrown: unknown): string {
    const inner: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown
    return this.#hide(describeThrown(inner))
  }
}

/** A part of a URL as text; as it is, if it was not encoded. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Recognises a connection that is lost or refused, or a server that stops or starts. */
const isAway = (thrown: unknown): boolean => {
  const code = codeOf(thrown)
  const isLost = thrown instanceof Error && /connection|timeout/i.test(thrown.message)
  return code === '' ? isLost : /^(08|57P|53|E[A-Z]+$)/.test(code)
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''

const rowsOf = ({ rows }: { rows: unknown[] }): Row[] => rows.filter((row): row is Row => Object(row) === row)

/** Waits for a time, or until the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
