/** The first command of the README, in a clone with nothing installed. The second, `npm test`, runs this. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeBlocks } from '../docs/codeBlocks.ts'
import { linesOf } from '../docs/shellLines.ts'
import { runProgram } from '../runScript.ts'
import { untracked } from './freshClone.ts'

const root = join(import.meta.dirname, '../..')
const [first] = codeBlocks('README.md')
const [clone = ''] = first ? linesOf(first) : []
const [address = ''] = /https:\S+/.exec(clone) ?? []

const temporary = mkdtempSync(join(tmpdir(), 'statewire-start-'))
const origin = join(temporary, 'origin')
/** The address of the README leads to what is here, with changes that are not committed yet. */
const env = {
  ...process.env,
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: `url.${pathToFileURL(origin)}.insteadOf`,
  GIT_CONFIG_VALUE_0: address,
}

beforeAll(() => {
  cpSync(root, origin, {
    recursive: true,
    filter: (path) => dirname(path) !== root || !untracked.includes(basename(path)),
  })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: origin, stdio: 'ignore' })
  git('init')
  git('add', '--all')
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '-m', 'All of it')
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

/** The lines that a command prints after the two of npm itself. */
const printedBy = async (command: string, cwd: string): Promise<string> => {
  const { printed, code } = await runProgram('sh', ['-c', command], { cwd, env })
  expect(code, printed).toBe(0)
  const [, ownLines = printed] = printed.split('> node scripts/start.mjs\n\n')
  return ownLines
}

const introduction = /^An agent plans a trip\.\nNo key, no network: .*\nThere is no terminal to ask: .*\n/

test('it shows an agent at work, and says what it does until then', async () => {
  const printed = await printedBy(clone, temporary)
  const [, steps = '', shown = ''] = /^(.*?)(An agent plans a trip\..*)$/s.exec(printed) ?? []
  expect(steps).toMatch(
    /^Installing the \d+ packages that the demo needs, once … [\d.]+ s\nBuilding … [\d.]+ s\n$/,
  )
  expect(shown).toMatch(introduction)
  expect(shown).toContain(
    'Let me look that up.\n  · get_weather(city: Oslo)\n  · get_weather(city: Bergen)\n',
  )
  expect(shown).toContain('2 * 349 + 120 = 818. The train to Bergen at 08:25 is booked')
  // Without a terminal the page is gone when the link is read.
  expect(printed).not.toContain('http://')
})

test('it starts at once the second time, and builds after a change', async () => {
  const cwd = join(temporary, 'statewire')
  expect(await printedBy('npm start', cwd)).toMatch(introduction)
  utimesSync(join(cwd, 'src/index.ts'), new Date(), new Date())
  expect(await printedBy('npm start', cwd)).toMatch(/^Building … [\d.]+ s\nAn agent plans a trip\./)
})
