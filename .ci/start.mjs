// What `npm start` promises, from a clone with nothing installed: the demo, with no key and no network.
import { existsSync } from 'node:fs'
import { bin, installIfMissing, run } from './install.mjs'

installIfMissing()
if (!existsSync('dist/index.js')) run('build', bin('tsup'), '--silent')
run('demo', process.execPath, 'examples/demo.mjs', ...process.argv.slice(2))
