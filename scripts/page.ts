// Builds what the inspector's page draws charts with from the code of statewire/visualize: page/drawing.js, which is not in git.
// The build and the tests (vitest.config.ts) do it by themselves.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { build } from 'esbuild'

const built = 'src/inspector/page/drawing.js'

export default async (): Promise<void> => {
  const { outputFiles } = await build({
    entryPoints: ['src/visualize/drawing.ts'],
    bundle: true,
    format: 'esm',
    banner: { js: '// @ts-nocheck' },
    target: 'es2022',
    write: false,
  })
  const [{ text } = { text: '' }] = outputFiles
  if ((await readFile(built, 'utf8').catch(() => '')) === text) return
  // Another process may be reading it.
  const fresh = `${built}.${process.pid}`
  await writeFile(fresh, text)
  await rename(fresh, built)
}
