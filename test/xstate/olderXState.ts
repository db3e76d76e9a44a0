import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/statewire')

/** The first release of the range that the package promises to run with. */
export const oldestXState = (): string => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return peerDependencies.xstate.replace('^', '')
}

/** Where a release of XState lies; or why it cannot be had. Fetched once, then kept with the other packages. */
export const olderXState = async (version: string): Promise<{ folder: string } | { problem: string }> => {
  const home = join(cache, `xstate-${version}`)
  const folder = join(home, 'node_modules/xstate')
  if (existsSync(folder)) return { folder }
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'fetching-'))
  try {
    const options = ['--no-save', '--no-audit', '--no-fund', '--fetch-retries=0', '--prefix', fresh]
    await promisify(execFile)('npm', ['install', `xstate@${version}`, ...options], { timeout: 20_000 })
    // All at once, so that a fetch that breaks off leaves nothing; whoever was faster has the same.
    await rename(fresh, home).catch(() => {})
    return { folder }
  } catch (thrown) {
    const [why] = /npm error code \w+/.exec(String(thrown)) ?? [String(thrown)]
    return { problem: `xstate@${version} could not be fetched from the registry: ${why}` }
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}
