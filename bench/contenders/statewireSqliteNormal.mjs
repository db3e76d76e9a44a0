import { openSqlite } from './statewireSqlite.mjs'

/** Each step is with the operating system before it takes effect. */
export const open = (options) => openSqlite(options, 'normal')
