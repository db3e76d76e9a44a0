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

const repetitionsOf = ({ look, repetitions = Number.POSITIVE_INFINITY }) =>
  look ? 1 : Math.min(options.repetitions, repetitions)
const provider = await startProvider()
const shown = progress(cases.reduce((sum, each) => sum + each.contenders.length * repetitionsOf(each), 0))

const measureOnce = ({ look, job, peerJob }, contender) =>
  look?.() ??
  runJob({ ...job, ...(Object.hasOwn(peers, contender) && peerJob), contender, origin: provider.origin })

const results = []
for (const each of cases) {
  const runs = Object.fromEntries(each.contenders.map((contender) => [contender, []]))
  const repetitions = repetitionsOf(each)
  // Contenders take turns, so that a busy moment of the machine meets them all.
  for (let repetition = 1; repetition <= repetitions; repetition += 1) {
    for (const contender of each.contenders) {
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
