import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { describeMachine } from '../../src/visualize/index.ts'
import { pathCounts } from '../machines/pathCounts.ts'
import { isWhole } from '../proof/sample.ts'
import { type CountsOfCharts, gallery, galleryFiles } from './gallery.ts'

// `npm run visualize` runs this file with `--update`, which writes what is compared here.

const folder = new URL('../../visualizations/', import.meta.url)

/** Walking every path to count takes long: `npm run proof` does it. Here it is enough that the path tests take every transition. */
const takenOnce: CountsOfCharts = new Map(
  gallery.map(({ machine }) => {
    const { id, transitions } = describeMachine(machine)
    return [id, new Map(transitions.map(({ name }) => [name, 1]))]
  }),
)

test('the pictures in visualizations/ show the machines as they are: else run `npm run visualize`', async () => {
  const files = await galleryFiles(isWhole ? pathCounts() : takenOnce)
  for (const [name, content] of files) {
    if (isWhole || name !== 'coverage.html')
      await expect(content, name).toMatchFileSnapshot(new URL(name, folder).pathname)
  }
  expect((await readdir(folder)).filter((name) => !files.has(name))).toEqual([])
}, 300_000)

test('the notices name the version of the layout engine that is packed', async () => {
  const root = new URL('../../', import.meta.url)
  const { version } = JSON.parse(await readFile(new URL('node_modules/elkjs/package.json', root), 'utf8'))
  expect(await readFile(new URL('THIRD-PARTY-NOTICES.md', root), 'utf8')).toContain(`elkjs ${version}`)
})
