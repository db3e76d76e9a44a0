import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')

/** The releases of XState 5 that the package promises to run with. `statewire/xstate6` is for those of the next major. */
export const [range = '']: string[] = JSON.parse(manifest).peerDependencies.xstate.split(' || ')

export const oldest = range.replace('^', '')
