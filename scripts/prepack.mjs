// The packed code is always built completely: `npm start` leaves a build without types, and a fresh clone has none.
import { existsSync } from 'node:fs'
import { bin, installIfMissing, run } from './run.mjs'

if (!existsSync(bin('tsup'))) installIfMissing()
run('build', bin('tsup'), '--silent')
run('build for XState 6', process.execPath, 'scripts/xstate6.mjs')
