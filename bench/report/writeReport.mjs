import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chart } from './chart.mjs'
import { machine } from './machine.mjs'
import { markdown } from './markdown.mjs'

/** results.json has everything; RESULTS.md and results.svg are made of it. */
export const writeReport = (options, results) => {
  const { repetitions, minutes, skipped } = options
  const report = { machine: machine(options), repetitions, minutes, skipped, results }
  mkdirSync(options.output, { recursive: true })
  const write = (name, text) => writeFileSync(join(options.output, name), text)
  write('results.json', `${JSON.stringify(report, null, 2)}\n`)
  write('RESULTS.md', markdown(report))
  write('results.svg', chart(report))
}
