// The site of the guides. Its navigation is the table of docs/README.md, so that a new guide is listed once.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const pages = join(import.meta.dirname, '../pages')

/** The guides, in the order of their table. */
const guides = [
  ...readFileSync(join(pages, 'README.md'), 'utf8').matchAll(/^\| \[([^\]]+)\]\(([\w-]+)\.md\)/gm),
]

const folder = (name) =>
  readdirSync(join(pages, name))
    .filter((file) => file.endsWith('.md') && file !== 'README.md' && file !== 'index.md')
    .map((file) => ({ text: file.slice(0, -3), link: `/${name}/${file.slice(0, -3)}` }))

export default {
  title: 'statewire',
  description: 'LLM agents as explicit XState statecharts',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: false,
  rewrites: { 'README.md': 'index.md', 'api/README.md': 'api/index.md' },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Guides', link: '/getting-started' },
      { text: 'States', link: '/states/' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      { text: 'Guides', items: guides.map(([, text, name]) => ({ text, link: `/${name}` })) },
      { text: 'States', collapsed: true, items: folder('states') },
      { text: 'API reference', collapsed: true, items: folder('api') },
    ],
    outline: [2, 3],
  },
}
