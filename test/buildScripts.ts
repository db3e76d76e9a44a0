import { join } from 'node:path'
import { build } from 'tsup'

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
  })
  const names = Object.keys(entry) as Name[]
  return Object.fromEntries(names.map((name) => [name, join(outDir, `${name}.mjs`)])) as Record<Name, string>
}
