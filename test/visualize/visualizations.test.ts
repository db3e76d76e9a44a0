import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { pathCounts } from '../machines/pathCounts.ts'
import { galleryFiles } from './gallery.ts'

// `npm run visualize` runs this file with `--update`, which writes what is compared here.

const folder = new URL('../../visualizations/', import.meta.url)

test('the pictures in visualizations/ show the machines as they are: else run `npm run visualize`', async () => {
  const files = await galleryFiles(pathCounts())
  for (const [name, content] of files) {
    await expect(content, name).toMatchFileSnapshot(new URL(name, folder).pathname)
  }
  expect((await readdir(folder)).filter((name) => !files.has(name))).toEqual([])
}, 300_000)

test('the notices name the version of the layouter that is packed', async () => {
  const root = new URL('../../', import.meta.url)
  const { version } = JSON.parse(await readFile(new URL('node_modules/elkjs/package.json', root), 'utf8'))
  expect(await readFile(new URL('THIRD-PARTY-NOTICES.md', root), 'utf8')).toContain(`elkjs ${version}`)
})
