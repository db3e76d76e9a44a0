import { fileURLToPath } from 'node:url'

/** The build under test: this package's own, or that of `--dist`, which is known only after the options are read. */
const folder = () => process.env.BENCH_STATEWIRE ?? new URL('../dist/', import.meta.url).href

/** A module of it: the main one, or one of its others by name. */
export const builtModule = (name = 'index') => new URL(`${name}.js`, folder()).href

export const packageFolder = () => fileURLToPath(new URL('..', folder()))
