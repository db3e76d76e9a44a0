import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { AnyStateMachine } from 'xstate'
import { lifecycleChart } from '../../inspector/chart.ts'
import { describeThrown } from '../../messages/errors.ts'
import { type Command, type Invocation, textOption } from '../command.ts'
import { findMachine } from '../moduleFile.ts'
import { exit, UsageError } from '../outcome.ts'

export const graph: Command = {
  name: 'graph',
  alias: 'draw',
  summary: 'Draws the machine of a file, or that of an agent',
  operands: '[file]',
  options: {
    format: {
      type: 'string',
      short: 'f',
      value: 'svg|mermaid|png',
      about: 'default: as --out ends, or what fits',
    },
    export: { type: 'string', short: 'e', value: 'name', about: 'which export of the file is the machine' },
    out: { type: 'string', short: 'o', value: 'path', about: 'write it to a file' },
  },
  details: [
    'The file is a module (.js, .mjs, .cjs, with a newer Node .ts) that exports an',
    'XState 5 machine or an agent. It is loaded, so its code runs. A PNG is drawn',
    'by a Chrome or Chromium of this machine; CHROME_PATH names another one.',
  ],
  run: async (invocation) => {
    const { words, screen } = invocation
    const [file, ...more] = words
    if (more.length > 0) throw new UsageError('graph draws one file at a time: name only one.')
    const out = textOption(invocation, 'out')
    const format = formatOf(invocation, out)
    const name = textOption(invocation, 'export')
    if (file === undefined && name !== undefined) throw new UsageError('--export needs a file.')
    const machine = file === undefined ? lifecycleChart() : await findMachine(file, name)
    const drawing = await draw(machine, format, invocation.env)
    if (out !== undefined) {
      await writeFile(out, drawing).catch((error: unknown) => {
        throw new UsageError(`${out} cannot be written: ${describeThrown(error)}`)
      })
      screen.note(`${out} is written.`)
    } else if (typeof drawing === 'string') screen.line(drawing.trimEnd())
    else screen.bytes(drawing)
    return exit.complete
  },
}

const formats = ['svg', 'mermaid', 'png'] as const
type Format = (typeof formats)[number]

const formatOf = (invocation: Invocation, out: string | undefined): Format => {
  const wanted = textOption(invocation, 'format')
  const format = formats.find((each) => each === wanted)
  if (wanted !== undefined && format === undefined)
    throw new UsageError(`"${wanted}" is not a format: use svg, mermaid or png.`)
  if (format === 'png' && out === undefined && invocation.screen.isTerminal)
    throw new UsageError('A terminal cannot show a PNG: name a file with --out.')
  if (format !== undefined) return format
  if (out === undefined) return invocation.screen.isTerminal ? 'mermaid' : 'svg'
  if (/\.png$/i.test(out)) return 'png'
  return /\.(?:mmd|mermaid|md)$/i.test(out) ? 'mermaid' : 'svg'
}

const draw = async (
  machine: AnyStateMachine,
  format: Format,
  env: NodeJS.ProcessEnv,
): Promise<string | Buffer> => {
  const { toMermaid, toSvg } = await import('../../visualize/index.ts')
  if (format === 'mermaid') return toMermaid(machine)
  const svg = await toSvg(machine)
  return format === 'svg' ? svg : toPng(svg, env)
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'msedge']
const apps = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
]
const patienceMs = 60_000

/** A Chrome or Chromium on this machine: the one that `CHROME_PATH` names, or one that is found. */
export const findChrome = (env: NodeJS.ProcessEnv): string | undefined => {
  if (env.CHROME_PATH) return env.CHROME_PATH
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...apps].find(existsSync)
}

/** The picture of an SVG, as Chrome draws it: twice as large, in light colours. */
const toPng = async (svg: string, env: NodeJS.ProcessEnv): Promise<Buffer> => {
  const chrome = findChrome(env)
  if (chrome === undefined)
    throw new UsageError(
      'A PNG is drawn by Chrome or Chromium, and none was found: name it in CHROME_PATH, or write an .svg.',
    )
  const [, width = '800', height = '600'] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []
  const folder = await mkdtemp(join(tmpdir(), 'statewire-png-'))
  const [page, picture] = [join(folder, 'page.html'), join(folder, 'picture.png')]
  try {
    await writeFile(
      page,
      `<!doctype html><html data-theme="light"><body style="margin:0;background:#fff">${svg}`,
    )
    await promisify(execFile)(
      chrome,
      [
        '--headless',
        '--disable-gpu',
        '--hide-scrollbars',
        '--force-device-scale-factor=2',
        `--user-data-dir=${join(folder, 'profile')}`,
        `--window-size=${width},${height}`,
        `--screenshot=${picture}`,
        // As root Chrome has no sandbox to start in.
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        page,
      ],
      { timeout: patienceMs, killSignal: 'SIGKILL', env },
    )
    return await readFile(picture)
  } catch {
    throw new UsageError(
      `${chrome} did not draw the PNG: name another Chrome in CHROME_PATH, or write an .svg.`,
    )
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
