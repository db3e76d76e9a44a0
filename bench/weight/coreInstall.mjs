import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFolder } from '../built.mjs'

/** Packs the package and installs it where nothing else is: how many packages, how many MB. */
export const coreInstall = () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-install-'))
  try {
    const npm = (...args) =>
      execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const [{ filename }] = JSON.parse(npm('pack', packageFolder(), '--json', '--ignore-scripts'))
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    npm('install', join(folder, filename), '--omit=dev', '--no-audit', '--no-fund')
    const lock = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
    return { packages: Object.keys(lock.packages).length, size: sizeOf(join(folder, 'node_modules')) / 1e6 }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const sizeOf = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
