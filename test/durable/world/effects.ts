import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A line of the file in which tools leave their effects, which can be seen from outside. */
export type Effect = {
  what: 'begin' | 'end'
  tool: string
  run: string
  callId: string
  attempt: number
  key: string
  /** The result of an execution; another one of the same call has another result. */
  nonce: string
}

const fields = ['what', 'tool', 'run', 'callId', 'attempt', 'key', 'nonce'] as const

/** The file of the effects of a store's runs. */
export const effectsFile = (folder: string): string => join(folder, 'effects.log')

/** A line is one write at the end of the file: killed processes leave whole lines. */
export const leaveEffect = (file: string, effect: Effect): void => {
  const descriptor = openSync(file, 'a')
  writeSync(descriptor, `${fields.map((field) => effect[field]).join('\t')}\n`)
  closeSync(descriptor)
}

export const effectsIn = (file: string): Effect[] =>
  (existsSync(file) ? readFileSync(file, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [what = '', tool = '', run = '', callId = '', attempt = '', key = '', nonce = ''] =
        line.split('\t')
      return {
        what: what === 'begin' ? 'begin' : 'end',
        tool,
        run,
        callId,
        attempt: Number(attempt),
        key,
        nonce,
      }
    })
