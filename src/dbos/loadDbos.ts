import { createRequire } from 'node:module'
import { ConfigurationError } from '../messages/errors.ts'

const name = '@dbos-inc/dbos-sdk'

/** The SDK of DBOS. */
export type Dbos = typeof import('@dbos-inc/dbos-sdk')

/** The part of `pg` that is used here. */
export type Pool = {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>
  connect(): Promise<Pick<Pool, 'query'> & { release(error?: Error): void }>
  on(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
}

export type PoolOptions = { connectionString: string; max: number; connectionTimeoutMillis: number }

/** DBOS, and the driver for Postgres that it brings: only those install them who use them. */
export const loadDbos = async (): Promise<{ sdk: Dbos; Pool: new (options: PoolOptions) => Pool }> => {
  try {
    const sdk = await import(/* webpackIgnore: true */ '@dbos-inc/dbos-sdk')
    const here = createRequire(import.meta.url)
    const pg: { Pool: new (options: PoolOptions) => Pool } = createRequire(here.resolve(name))('pg')
    return { sdk, Pool: pg.Pool }
  } catch (cause) {
    throw new ConfigurationError(`The package ${name} is needed for runs on DBOS: npm install ${name}.`, {
      cause,
    })
  }
}
