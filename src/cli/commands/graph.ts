import { writeFile } from 'node:fs/promises'
import type { AnyStateMachine } from 'xstate'
import { lifecycleChart } from '../../inspector/lifecycleChart.ts'
import { describeThrown } from '../../messages/errors.ts'
import { type Command, type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { findMachine } from '../findMachine.ts'

export const graph: Command = {
  name: 'graph',
  summary: 'Draws the machine of a file, or that of every agent',
  operands: '[file]',
  options: {
    format: {
      type: 'string',
      short: 'f',
      value: 'svg|mermaid',
      about: 'default: as --out ends, or what fits',
    },
    export: { type: 'string', short: 'e', value: 'name', about: 'which export of the file is the machine' },
    out: { type: 'string', short: 'o', value: 'path', about: 'write it to a file' },
  },
  details: [
    'The file is a module (.js, .mjs, .cjs, with a newer Node .ts) that exports an',
    'XState 5 machine or an agent. It is loaded, so its code runs.',
  ],
  run: async (invocation) => {
    const { words, screen } = invocation
    const [file, ...more] = words
    if (more.length > 0) throw new UsageError('One file at a time, please.')
    const out = textOption(invocation, 'out')
    const format = formatOf(invocation, out)
    const name = textOption(invocation, 'export')
    if (file === undefined && name !== undefined) throw new UsageError('--export needs a file.')
    const machine = file === undefined ? lifecycleChart() : await findMachine(file, name)
    const drawing = await draw(machine, format)
    if (out === undefined) screen.line(drawing.trimEnd())
    else {
      await writeFile(out, drawing).catch((error: unknown) => {
        throw new UsageError(`${out} cannot be written: ${describeThrown(error)}`)
      })
      screen.note(`${out} is written.`)
    }
    return exit.complete
  },
}

type Format = 'svg' | 'mermaid'

const formatOf = (invocation: Invocation, out: string | undefined): Format => {
  const wanted = textOption(invocation, 'format')
  if (wanted === 'svg' || wanted === 'mermaid') return wanted
  if (wanted !== undefined) throw new UsageError(`"${wanted}" is not a format: use svg or mermaid.`)
  if (out !== undefined) return /\.(?:mmd|mermaid|md)$/i.test(out) ? 'mermaid' : 'svg'
  return invocation.screen.isTerminal ? 'mermaid' : 'svg'
}

const draw = async (machine: AnyStateMachine, format: Format): Promise<string> => {
  const { toMermaid, toSvg } = await import('../../visualize/index.ts')
  return format === 'svg' ? toSvg(machine) : toMermaid(machine)
}
