import { join } from 'node:path'
import { build } from 'tsup'

/** The scripts of the world, ready to be started. */
export type WorldScripts = { model: string; worker: string }

/** Builds them for a test file: below node_modules, where they find their packages, and apart from those of other files. */
export const buildWorld = async (name: string): Promise<WorldScripts> => {
  const outDir = join('node_modules', '.cache', `statewire-${name}`)
  await build({
    entry: {
      model: 'test/durable/world/modelProcess.ts',
      worker: 'test/durable/world/workerProcess.ts',
    },
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
  return { model: join(outDir, 'model.mjs'), worker: join(outDir, 'worker.mjs') }
}
