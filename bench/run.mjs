// Measures statewire against the floor, and with --peers against its peers; see --help.
import { measures } from './measures/index.mjs'
import { readOptions, usage } from './options.mjs'
import { areInstalled, peers } from './peers/index.mjs'
import { runJob, startProvider } from './processes.mjs'
import { progress } from './progress.mjs'
import { table } from './report/table.mjs'
import { writeReport } from './report/writeReport.mjs'
import { summarize } from './statistics.mjs'

const options = readOptions(process.argv.slice(2))
if (options.isHelp) {
  console.log(usage)
  process.exit()
}
if (options.withPeers && !areInstalled()) {
  console.error('The peers are not installed: npm run bench:peers does it.')
  process.exit(1)
}

const isWanted = (contender) => options.contenders?.includes(contender) ?? true
const cases = Object.entries(measures)
  .filter(([name]) => options.only?.includes(name) ?? true)
  .flatMap(([, measure]) => measure({ ...options, peers: options.withPeers ? Object.keys(peers) : [] }))
  .map((each) => ({ ...each, contenders: each.contenders.filter(isWanted) }))

/** Peers take up to a hundred times as long, and nobody's goal hangs on them: they are measured less often. */
const repetitionsOf = ({ look, repetitions = options.repetitions, peerRepetitions = 3 }, contender) => {
  if (look) return 1
  const most = Object.hasOwn(peers, contender) ? peerRepetitions : repetitions
  return Math.min(options.repetitions, most)
}
const runsOf = (each) => each.contenders.reduce((sum, contender) => sum + repetitionsOf(each, contender), 0)
const provider = await startProvider()
const shown = progress(cases.reduce((sum, each) => sum + runsOf(each), 0))

const measureOnce = ({ look, job }, contender) =>
  look?.() ?? runJob({ ...job, contender, origin: provider.origin })

const results = []
for (const each of cases) {
  const runs = Object.fromEntries(each.contenders.map((contender) => [contender, []]))
  // Contenders take turns, so that a busy moment of the machine meets them all.
  for (let repetition = 1; repetition <= options.repetitions; repetition += 1) {
    for (const contender of each.contenders) {
      const repetitions = repetitionsOf(each, contender)
      if (repetition > repetitions) continue
      shown.step(`${each.title}: ${contender}, ${repetition} of ${repetitions}`)
      runs[contender].push(await measureOnce(each, contender))
    }
  }
  results.push(...summarize(each, runs))
}
shown.end()
provider.stop()
console.log(table(results))
if (options.output) writeReport(options, results)
