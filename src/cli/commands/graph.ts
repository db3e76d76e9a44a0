import { writeFile } from 'node:fs/promises'
import type { AnyStateMachine } from 'xstate'
import { lifecycleChart } from '../../inspector/chart.ts'
import { describeThrown } from '../../messages/errors.ts'
import { type Command, type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { findMachine } from '../findMachine.ts'
import { toPng } from '../toPng.ts'

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
