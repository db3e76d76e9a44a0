import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const cache = join(import.meta.dirname, '../node_modules/.cache/statewire')

/** The folder of a release of a package, or the reason why there is none. It is fetched once, and kept with the other packages. */
export const fromRegistry = async (
  name: string,
  version: string,
): Promise<{ folder: string } | { problem: string }> => {
  const home = join(cache, `${name}-${version}`)
  const folder = join(home, 'node_modules', name)
  if (existsSync(folder)) return { folder }
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'fetching-'))
  try {
    const options = [
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--fetch-retries=0',
      '--fetch-timeout=20000',
      '--prefix',
      fresh,
    ]
    await promisify(execFile)('npm', ['install', `${name}@${version}`, ...options], { timeout: 300_000 })
    // All at once, so that a fetch that breaks off leaves nothing; a faster process has the same.
    await rename(fresh, home).catch(() => {})
    return { folder }
  } catch (thrown) {
    const [why] = /npm error code \w+/.exec(String(thrown)) ?? [String(thrown)]
    return { problem: `${name}@${version} could not be fetched from the registry: ${why}` }
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}
