import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { packageFolder } from '../built.mjs'
import { versionOf } from '../peers/index.mjs'

const dependencies = ['xstate', 'undici', 'eventsource-parser', 'zod']

/** The machine that the figures come from: they mean little without it. */
export const machine = ({ node, measuredPeers }) => ({
  date: new Date().toISOString().slice(0, 10),
  cpu: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores`,
  memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  system: `${platform()} ${release()} ${arch()}`,
  // That of the processes that were measured, not of the one that started them.
  node: node.version,
  statewire: `${versionAt(`${packageFolder()}/package.json`)} (${commit()})`,
  versions: Object.fromEntries(dependencies.map((name) => [name, versionAt(pathOf(name))])),
  peers: Object.fromEntries(measuredPeers.map((name) => [name, versionOf(name)])),
})

/** A build need not lie beside its package.json. */
const versionAt = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : 'unknown')

const pathOf = (name) => createRequire(import.meta.url).resolve(`${name}/package.json`)

const commit = () => {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: packageFolder(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'no commit'
  }
}
