import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { findChrome } from '../../src/cli/commands/graph.ts'
import { folder, statewire } from './spawned.ts'

const xstate = import.meta.resolve('xstate')
const statewireModule = pathToFileURL('dist/index.js').href
const machine = (id: string, open: string, shut: string) =>
  `createMachine({ id: '${id}', initial: '${open}', states: { ${open}: { on: { TOGGLE: '${shut}' } }, ${shut}: {} } })`

/** A folder with files of a user in it. */
const files = async (contents: Record<string, string>): Promise<string> => {
  const cwd = await folder()
  const head = `import { createMachine } from '${xstate}'\n`
  for (const [name, text] of Object.entries(contents)) {
    await writeFile(join(cwd, name), name.endsWith('.cjs') ? text : head + text)
  }
  return cwd
}

it('draws the lifecycle of an agent without a file', async () => {
  const [svg, mermaid] = await Promise.all([
    statewire(['graph']),
    statewire(['graph', '--format', 'mermaid']),
  ])
  expect(svg.stdout).toMatch(/^<svg [\s\S]*AwaitingApproval[\s\S]*<\/svg>\n$/)
  expect(mermaid.stdout).toMatch(/^stateDiagram-v2\n[\s\S]*AwaitingApproval/)
  expect([svg.code, mermaid.code]).toEqual([0, 0])
})

it('draws the machine of a file: the default, the only one, the one that is named, or an agent', async () => {
  const cwd = await files({
    'default.mjs': `export default ${machine('door', 'Open', 'Shut')}\nexport const other = ${machine('lamp', 'On', 'Off')}`,
    'only.mjs': `export const lamp = ${machine('lamp', 'On', 'Off')}\nexport const nothing = 7`,
    'several.mjs': `export const lamp = ${machine('lamp', 'On', 'Off')}\nexport const door = ${machine('door', 'Open', 'Shut')}`,
    'agent.mjs': `import { Agent } from '${statewireModule}'\nexport const agent = new Agent('openai:x')\nsetInterval(() => {}, 1000)`,
    'common.cjs': `const { createMachine } = require(${JSON.stringify(new URL(xstate).pathname)})\nmodule.exports = { lamp: ${machine('lamp', 'On', 'Off')} }`,
  })
  const draw = async (...args: string[]) =>
    (await statewire(['graph', '-f', 'mermaid', ...args], { cwd })).stdout
  const drawn = await Promise.all([
    draw('default.mjs'),
    draw('only.mjs'),
    draw('several.mjs', '--export', 'door'),
    draw('agent.mjs'),
    draw('common.cjs'),
  ])
  const shows = ['Open --> Shut', 'On --> Off', 'Open --> Shut', 'ToolExecution', 'On --> Off']
  for (const [at, text] of shows.entries()) expect(drawn[at]).toContain(text)
})

it('writes to a file, in the format its name asks for', async () => {
  const cwd = await files({ 'lamp.mjs': `export default ${machine('lamp', 'On', 'Off')}` })
  const ends = await Promise.all([
    statewire(['graph', 'lamp.mjs', '--out', 'lamp.svg'], { cwd }),
    statewire(['graph', 'lamp.mjs', '--out', 'lamp.mmd'], { cwd }),
    statewire(['graph', 'lamp.mjs', '--out', 'missing/lamp.svg'], { cwd }),
  ])
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 2])
  expect(ends.map(({ stdout }) => stdout)).toEqual(['', '', ''])
  expect(await readFile(join(cwd, 'lamp.svg'), 'utf8')).toContain('</svg>')
  expect(await readFile(join(cwd, 'lamp.mmd'), 'utf8')).toContain('stateDiagram-v2')
  expect(ends[2]?.stderr).toContain('missing/lamp.svg cannot be written')
})

const hasChrome = findChrome(process.env) !== undefined
if (!hasChrome) console.warn('PNG is not tested: there is no Chrome or Chromium here.')

it.skipIf(!hasChrome)('draws a PNG where the name says so, with draw as with graph', async () => {
  const cwd = await files({ 'lamp.mjs': `export default ${machine('lamp', 'On', 'Off')}` })
  const { code, stderr } = await statewire(['draw', 'lamp.mjs', '--out', 'lamp.png'], { cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'lamp.png is written.\n' })
  const png = await readFile(join(cwd, 'lamp.png'))
  expect(png.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n')
  const svg = (await statewire(['draw', 'lamp.mjs', '-f', 'svg'], { cwd })).stdout
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([2 * Number(width), 2 * Number(height)])
})

it('says what is missing for a PNG', async () => {
  const [nowhere, broken] = await Promise.all([
    statewire(['graph', '-f', 'png'], { env: { PATH: '' } }),
    statewire(['graph', '-f', 'png'], { env: { CHROME_PATH: '/no/such/chrome' } }),
  ])
  expect([nowhere.code, broken.code]).toEqual([2, 2])
  expect(nowhere.stderr).toContain('none was found: name it in CHROME_PATH, or write an .svg.')
  expect(broken.stderr).toContain('/no/such/chrome did not draw the PNG')
})

it('ends with 2 and says what is wrong with the file', async () => {
  const cwd = await files({
    'none.mjs': 'export const config = {}\nexport const size = 3',
    'several.mjs': `export const lamp = ${machine('lamp', 'On', 'Off')}\nexport const door = ${machine('door', 'Open', 'Shut')}`,
    'broken.mjs': 'throw new Error("not today")',
    'typed.ts': `export const lamp: unknown = ${machine('lamp', 'On', 'Off')}`,
  })
  const problem = async (...args: string[]) => {
    const { code, stderr } = await statewire(['graph', '-f', 'mermaid', ...args], { cwd })
    return `${code} ${stderr.trim()}`
  }
  const [none, several, unnamed, broken, missing, format, typed] = await Promise.all([
    problem('none.mjs'),
    problem('several.mjs'),
    problem('none.mjs', '--export', 'lamp'),
    problem('broken.mjs'),
    problem('missing.mjs'),
    problem('none.mjs', '--format', 'gif'),
    problem('typed.ts'),
  ])
  expect(none).toBe('2 statewire: none.mjs exports no machine. It exports: config, size.')
  expect(several).toMatch(/^2 .* exports several machines: choose one with --export door\|lamp$/)
  expect(unnamed).toContain('2 statewire: "lamp" is not exported.')
  expect(broken).toBe('2 statewire: broken.mjs cannot be loaded: not today')
  expect(missing).toBe('2 statewire: There is no file missing.mjs.')
  expect(format).toContain('2 statewire: "gif" is not a format')
  // Which Node reads TypeScript by itself is its own affair: either it works, or the message says which one does.
  expect(typed).toMatch(/^0|^2 .*does not read TypeScript\. Node 22\.18 or newer does/)
})
