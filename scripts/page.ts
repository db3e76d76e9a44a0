// Builds the two files of the inspector's page that are not in git: page/drawing.js, with which it draws charts, from the code of
// statewire/visualize, and page/markdown.js, which parses answers. The build and the tests (vitest.config.ts) do it by themselves.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { build } from 'esbuild'
import { pageFiles } from './pageFiles.mjs'

export default async (): Promise<void> => {
  for (const [name, options] of Object.entries(pageFiles)) {
    const { outputFiles } = await build({ ...options, write: false })
    await replace(`src/inspector/page/${name}`, outputFiles?.[0]?.text ?? '')
  }
}

const replace = async (file: string, text: string): Promise<void> => {
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return
  // Another process may be reading it.
  const fresh = `${file}.${process.pid}`
  await writeFile(fresh, text)
  await rename(fresh, file)
}
