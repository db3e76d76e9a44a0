// Changes the code in thousands of small ways, and counts how many of the changes the tests notice.
// npm run mutate                    every part, one after the other: hours
// npm run mutate -- limits rounds   some parts
// MUTATION_SAMPLE=6 npm run mutate  one mutant in six, always the same ones
// npm run mutate -- machines/agent/limits.ts   a file, without a score of its own
// Scores go to test/mutation/scores.json, from where `npm run docs` puts them into docs/testing-strength.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isChosen, oneIn } from '../test/mutation/sample.mjs'
import { shards } from '../test/mutation/shards.mjs'
import { bin, installIfMissing, run } from './run.mjs'

const scoresFile = 'test/mutation/scores.json'

const stryker = (name, { mutate, tests }) => {
  process.env.MUTATION_TESTS = tests.join(' ')
  const report = `reports/${name}.json`
  // The report of each part is a file of its own, and a part that was broken off goes on where it was.
  writeFileSync(
    `reports/${name}.config.json`,
    JSON.stringify({
      ...JSON.parse(readFileSync('stryker.config.json', 'utf8')),
      mutate,
      incrementalFile: `reports/${name}.incremental.json`,
      jsonReporter: { fileName: report },
      htmlReporter: { fileName: `reports/${name}.html` },
    }),
  )
  run(`mutants of ${name}`, bin('stryker'), 'run', `reports/${name}.config.json`)
  return JSON.parse(readFileSync(report, 'utf8'))
}

/** The number of mutants that were noticed, and the places of the others. Those that no test reaches are sampled here. */
const scoreOf = ({ files }) => {
  const isCounted = ({ status, ...mutant }) => status !== 'NoCoverage' || isChosen(mutant)
  const mutants = Object.entries(files).flatMap(([path, { mutants }]) =>
    mutants.map((mutant) => ({ path, fileName: path, ...mutant })).filter(isCounted),
  )
  const of = (...statuses) => mutants.filter(({ status }) => statuses.includes(status))
  const missed = of('Survived', 'NoCoverage')
  const survivors = missed.map(
    ({ path, location, mutatorName }) => `${path}:${location.start.line} ${mutatorName}`,
  )
  return {
    noticed: of('Killed', 'Timeout').length,
    missed: missed.length,
    survivors: [...new Set(survivors)].sort(),
  }
}

installIfMissing()
run('folder for reports', 'mkdir', '-p', 'reports')
const [, , ...wanted] = process.argv
const files = wanted.filter((each) => each.includes('/'))
const names = wanted.length === 0 ? Object.keys(shards) : wanted.filter((each) => !each.includes('/'))
for (const name of names)
  if (!shards[name]) throw new Error(`There is no part "${name}": ${Object.keys(shards).join(', ')}.`)
if (files.length > 0)
  stryker('files', { mutate: files, tests: ['test/{engine,orchestrators,machines,providers}/**/*.test.ts'] })
for (const name of names) {
  const scores = existsSync(scoresFile) ? JSON.parse(readFileSync(scoresFile, 'utf8')) : {}
  const measured = new Date().toISOString().slice(0, 10)
  scores[name] = { measured, oneIn, ...scoreOf(stryker(name, shards[name])) }
  writeFileSync(scoresFile, `${JSON.stringify(scores, null, 2)}\n`)
}
