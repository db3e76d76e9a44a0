// What `npm start` promises, from a clone with nothing installed: an agent at work in the inspector, with no key and no network.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bin, installIfMissing, run } from './run.mjs'

const built = 'dist/cli.js'
const sources = ['src', 'machines', 'providers', 'package.json', 'tsup.config.ts']

const changedAt = (path) => {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => changedAt(join(path, name))))
}

installIfMissing()
if (!existsSync(built) || Math.max(...sources.map(changedAt)) > statSync(built).mtimeMs) {
  run('build', bin('tsup'), '--silent', '--no-dts')
}
// With a prompt, that is asked instead.
const asked = process.argv.slice(2)
process.argv.splice(1, process.argv.length, built, ...(asked.length > 0 ? ['inspect', ...asked] : ['demo']))
await import('../dist/cli.js')
