import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')

/** The releases of XState that the package promises to run with. */
export const range: string = JSON.parse(manifest).peerDependencies.xstate

export const oldest = range.replace('^', '')
