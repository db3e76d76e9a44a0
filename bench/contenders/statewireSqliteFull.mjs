import { openSqlite } from './statewireSqlite.mjs'

/** Each step is on the disk before it takes effect. */
export const open = (options) => openSqlite(options, 'full')
