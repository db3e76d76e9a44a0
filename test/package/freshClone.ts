import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')

/** What git does not keep. */
export const untracked = ['.git', 'node_modules', 'dist', 'coverage', 'reports', '.stryker-tmp']

export type Packed = { tarball: string; files: string[]; remove(): Promise<void> }

/** What `npm pack --json` printed. */
const packedIn = (folder: string, listing: string): Omit<Packed, 'remove'> => {
  const [{ filename, files }]: [{ filename: string; files: { path: string }[] }] = JSON.parse(listing)
  return { tarball: join(folder, filename), files: files.map(({ path }) => path) }
}

/** What `npm test` has packed, in this project; else a copy of the project is packed now. */
export const packProject = async (): Promise<Packed> => {
  const { STATEWIRE_PACKED: folder } = process.env
  if (folder === undefined) return packFreshClone()
  const listing = await readFile(join(folder, 'listing.json'), 'utf8')
  return { ...packedIn(folder, listing), remove: async () => {} }
}

/**
 * Packs the project as `npm pack` does in a clone: nothing is built there but what `npm start` may have left. Only the
 * packages are borrowed, because installing them takes longer than everything else.
 */
const packFreshClone = async (): Promise<Packed> => {
  const folder = await mkdtemp(join(tmpdir(), 'statewire-clone-'))
  await cp(root, folder, {
    recursive: true,
    filter: (path) => dirname(path) !== root || !untracked.includes(basename(path)),
  })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'dist'))
  await writeFile(join(folder, 'dist/leftover.js'), '')
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--ignore-scripts=false'], {
    cwd: folder,
    maxBuffer: 2 ** 26,
  })
  return {
    ...packedIn(folder, stdout),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
