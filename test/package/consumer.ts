import { execFile } from 'node:child_process'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')

/** The installer of packages: npm, or the folder of a pnpm. */
export type Manager = 'npm' | { pnpm: string }

/** An empty project that installs the package beside its own XState and zod, as README says. */
export const installInto = async (manager: Manager, tarball: string, xstate: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'statewire-consumer-'))
  const manifest = {
    private: true,
    type: 'module',
    // Node 20 has no built-in SQLite.
    dependencies: { statewire: `file:${tarball}`, xstate, zod: '^4', libsql: '^0.5.29' },
    devDependencies: { '@types/node': '^20' },
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await cp(join(root, 'test/docs/offline.mjs'), join(folder, 'offline.mjs'))
  const [program, ...args] =
    manager === 'npm'
      ? ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--strict-peer-deps']
      : [
          process.execPath,
          join(manager.pnpm, 'bin/pnpm.cjs'),
          'install',
          '--prefer-offline',
          '--strict-peer-dependencies',
        ]
  await promisify(execFile)(program ?? 'npm', args, { cwd: folder, timeout: 600_000 })
  return folder
}
