import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  'examples/README.md',
  'llms.txt',
]

/** What GitHub makes of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

/** Pictures of the README show on the package page, too, and guides are part of the package: what is not in it is named as GitHub serves it. */
const served =
  /^https:\/\/(raw\.githubusercontent\.com\/statewire\/statewire\/main|github\.com\/statewire\/statewire\/blob\/main)\//

const linksOf = (page: string): string[] => {
  const text = readFileSync(page, 'utf8').replace(/```[\s\S]*?```/g, '')
  const found = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
  return found
    .map(([, inText, inTag]) => {
      const link = inText ?? inTag ?? ''
      return served.test(link) ? join(relative(dirname(page), '.'), link.replace(served, '')) : link
    })
    .filter((link) => !/^https?:/.test(link))
}

test.each(pages)('every link of %s leads somewhere', (page) => {
  const lost = linksOf(page).filter((link) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
  })
  expect(lost).toEqual([])
})

test('every picture of the README shows on the package page', () => {
  const pictures = [
    ...readFileSync('README.md', 'utf8').matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g),
  ]
  expect(pictures.length).toBeGreaterThan(0)
  for (const [, inTag, inText] of pictures) expect(inTag ?? inText).toMatch(/^https:/)
})

/** The guides are read in `node_modules`, too, by people and by coding agents. */
test('every link of a guide leads to a file of the package', () => {
  const { files }: { files: string[] } = JSON.parse(readFileSync('package.json', 'utf8'))
  const isPacked = (path: string) => files.some((each) => path === each || path.startsWith(`${each}/`))
  const guides = [...pages.filter((page) => page.startsWith('docs/')), 'SKILL.md', 'llms.txt']
  const lost = guides.flatMap((page) => {
    const links = [
      ...readFileSync(page, 'utf8')
        .replace(/```[\s\S]*?```/g, '')
        .matchAll(/(?<!!\[[^\]]*)\]\(([^)\s#]+)/g),
    ]
    return links
      .map(([, link = '']) => link)
      .filter((link) => !/^https?:/.test(link) && !isPacked(join(dirname(page), link)))
      .map((link) => `${page}: ${link}`)
  })
  expect(lost).toEqual([])
})
