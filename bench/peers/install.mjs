// Installs the peers: those of the lock file as they are in it, then those that no lock file can have, because a package that
// they need is missing in the registry. One that cannot be installed is left out by name; the others are measured.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { missingPackages, peers } from './index.mjs'

const cwd = fileURLToPath(new URL('.', import.meta.url))
const longestMs = 5 * 60_000

const npm = (...args) =>
  spawnSync('npm', args, { cwd, encoding: 'utf8', timeout: longestMs, shell: process.platform === 'win32' })

// npm leaves out what needs a newer Node than the one that runs it: Node 24 installs them all.
// Scripts of packages fetch from elsewhere than the registry, and may wait there for long.
const locked = npm('ci', '--ignore-scripts')
if (locked.status !== 0) console.error(locked.stderr.trim().split('\n').slice(-5).join('\n'))

for (const { packages, unlocked } of Object.values(peers)) {
  if (unlocked)
    npm('install', '--no-save', '--ignore-scripts', ...packages.map((name) => `${name}@${unlocked}`))
}
for (const peer of Object.keys(peers)) {
  const missing = missingPackages(peer)
  if (missing.length > 0)
    console.error(
      `${peer} is left out: ${missing.join(' and ')} could not be installed with Node ${process.version}.`,
    )
}
