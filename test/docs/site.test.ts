import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentStates } from '../../machines/agent/states.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewire-site-'))
const pages = join(folder, 'pages')

beforeAll(() => {
  const program = `import { writePages } from './site/pages.mjs'; await writePages(process.argv[1])`
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program, '--', pages],
    {
      encoding: 'utf8',
    },
  )
  expect(status, stderr).toBe(0)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = () => readdirSync(pages, { recursive: true, encoding: 'utf8' })

test('every link between pages of the site leads to a page', () => {
  const lost = written()
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => {
      const text = readFileSync(join(pages, name), 'utf8').replace(/```[\s\S]*?```/g, '')
      return [...text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(pages, dirname(name), target)))
        .map((target) => `${name}: ${target}`)
    })
  expect(lost).toEqual([])
})

test('every state has a page with a picture in which it alone is highlighted', () => {
  const states = [...agentStates().keys()]
  expect(states.length).toBeGreaterThan(20)
  for (const state of states) {
    const picture = readFileSync(join(pages, 'states', `${state}.svg`), 'utf8')
    expect([...picture.matchAll(/ active" data-state="([^"]+)"/g)].map(([, id]) => id)).toEqual([
      `agent.${state}`,
    ])
    expect(written()).toContain(join('states', `${state}.md`))
  }
})

// Half a minute, so it is part of `npm run proof` only.
if (process.env.PROOF)
  test('the site is built, with its search', () => {
    const { status, stdout } = spawnSync(process.execPath, ['site/build.mjs'], { encoding: 'utf8' })
    expect(status, stdout).toBe(0)
    for (const name of ['index', 'getting-started', 'api/index', 'states/index', 'states/Accumulating'])
      expect(existsSync(`site/dist/${name}.html`), name).toBe(true)
    expect(
      readdirSync('site/dist/assets/chunks').some((name) => name.startsWith('@localSearchIndexroot')),
    ).toBe(true)
  })
