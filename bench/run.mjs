// Measures statewire against a hand-written reader, and with --peers against its peers; see --help.
import { measures } from './measures/index.mjs'
import { readOptions, usage } from './options.mjs'
import { areInstalled, peers, reasonToSkip } from './peers/index.mjs'
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
const wantedPeers = options.withPeers ? Object.keys(peers).filter(isWanted) : []
const skipped = Object.fromEntries(
  wantedPeers
    .map((peer) => [peer, reasonToSkip(peer, options.node.version)])
    .filter(([, reason]) => reason !== undefined),
)
for (const [peer, reason] of Object.entries(skipped)) console.error(`${peer} is left out: ${reason}.`)

const measuredPeers = wantedPeers.filter((peer) => !Object.hasOwn(skipped, peer))
const cases = Object.entries(measures)
  .filter(([name]) => options.only?.includes(name) ?? true)
  .flatMap(([, measure]) => measure({ ...options, peers: measuredPeers }))
  .map((each) => ({ ...each, contenders: each.contenders.filter(isWanted) }))

/** Plans the processes of a case: all contenders get the same number. */
const repetitionsOf = ({ look, repetitions = options.repetitions }) =>
  look ? 1 : Math.min(options.repetitions, repetitions)
const runsOf = (each) => each.contenders.length * repetitionsOf(each)
const provider = await startProvider(options.node)
const shown = progress(cases.reduce((sum, each) => sum + runsOf(each), 0))

const measureOnce = ({ look, job }, contender) =>
  look?.() ?? runJob({ ...job, contender, origin: provider.origin }, options.node)

const begin = performance.now()
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
const minutes = (performance.now() - begin) / 60_000
console.log(table(results))
console.log(`\nNode ${options.node.version}, ${minutes.toFixed(1)} minutes.`)
if (options.output) writeReport({ ...options, measuredPeers, skipped, minutes }, results)
