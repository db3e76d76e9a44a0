import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * Builds scripts for tests that start processes, and gives the path of each by its name. Below node_modules, where they find
 * their packages; in a folder of their own, because test files run side by side.
 */
export const buildScripts = async <Name extends string>(
  folder: string,
  entry: Record<Name, string>,
): Promise<Record<Name, string>> => {
  const outDir = join('node_modules', '.cache', `statewire-${folder}`)
  await build({
    entryPoints: entry,
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  })
  const names = Object.keys(entry) as Name[]
  return Object.fromEntries(names.map((name) => [name, join(outDir, `${name}.mjs`)])) as Record<Name, string>
}
