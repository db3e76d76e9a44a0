import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Options } from 'tsup'

const cache = join('node_modules', '.cache')

/**
 * Builds scripts for tests that start processes, and gives the path of each by its name. They are below node_modules, where
 * they find their packages, and in a new folder, because other test files and other runs of the suite build the same ones.
 */
export const buildScripts = async <Name extends string>(
  folder: string,
  entry: Record<Name, string>,
  more: Pick<Options, 'esbuildPlugins'> = {},
): Promise<Record<Name, string>> => {
  mkdirSync(cache, { recursive: true })
  removeLeftovers()
  const outDir = mkdtempSync(join(cache, `scripts-${process.pid}-${folder}-`))
  await build({
    entry,
    outDir,
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    target: 'node20',
    splitting: false,
    dts: false,
    clean: false,
    silent: true,
    config: false,
    ...more,
  })
  const names = Object.keys(entry) as Name[]
  return Object.fromEntries(names.map((name) => [name, join(outDir, `${name}.mjs`)])) as Record<Name, string>
}

/** Removes the folders of processes that have ended: the runner kills them, so they cannot do it themselves. */
const removeLeftovers = (): void => {
  for (const name of readdirSync(cache)) {
    const pid = /^scripts-(\d+)-/.exec(name)?.[1]
    if (pid && !isRunning(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true })
  }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return Object(error).code === 'EPERM'
  }
}
