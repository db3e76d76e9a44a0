// Counts what a request and a tool round of four calls do, instead of timing it: calls of functions by whose they are, and
// the work of XState. The counts are the same on a busy machine, so that they show what a change of the code changed.
//   node bench/counts.mjs [--dist dist] [--wire openai-chat] [--functions 30] [--policy]
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { nodeAt, startProvider } from './processes.mjs'
import { prompt } from './tool.mjs'
import { baseUrlOf, wires } from './wires/index.mjs'

const { values } = parseArgs({
  options: {
    dist: { type: 'string' },
    wire: { type: 'string', default: 'openai-chat' },
    functions: { type: 'string', default: '0' },
    policy: { type: 'boolean', default: false },
  },
})
if (values.dist) process.env.BENCH_STATEWIRE = pathToFileURL(`${resolve(values.dist)}/`).href
const { builtModule } = await import('./built.mjs')
const { open } = await import(`./contenders/statewire${values.policy ? 'Policy' : ''}.mjs`)

const shapes = {
  request: { chunks: 5, rounds: 0, calls: 1, per: 1 },
  // Ten rounds and the answer after them: a round is an eleventh of that, as in the benchmark.
  round: { chunks: 20, rounds: 10, calls: 4, per: 11 },
}
const warmUps = 5
const passes = 20

/** The functions of XState that are called once for each step of its work, by the name that is shown. */
const steps = {
  microsteps: 'microstep',
  macrosteps: 'macrostep',
  snapshots: 'createMachineSnapshot',
  assigns: 'resolveAssign',
  enqueueActions: 'resolveEnqueueActions',
  emits: 'emit',
  actors: 'createActor',
}

const folder = builtModule().replace(/[^/]*$/, '')
const ownerOf = (url) => {
  if (url.startsWith(folder)) return 'statewire'
  if (url.startsWith('node:') || url === '') return 'node'
  return /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'bench'
}

/** The beginning of a function without a name. */
const sourceAt = (url, { startOffset, endOffset }) =>
  url.startsWith('file:')
    ? readFileSync(fileURLToPath(url), 'utf8')
        .slice(startOffset, Math.min(endOffset, startOffset + 60))
        .replace(/\s+/g, ' ')
    : url

const session = new Session()
session.connect()
await session.post('Profiler.enable')

/** The calls of each function while some work is done. */
const callsDuring = async (work) => {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  return result.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges }) => ranges[0].count > 0)
      .map(({ functionName, ranges }) => ({
        owner: ownerOf(url),
        name: functionName || sourceAt(url, ranges[0]),
        count: ranges[0].count,
      })),
  )
}

const provider = await startProvider(nodeAt(process.execPath))
const wire = wires[values.wire]
for (const [title, { per, ...shape }] of Object.entries(shapes)) {
  const asked = { wire: values.wire, pacing: 'bulk', ...shape }
  const contender = open({
    wire,
    baseUrl: baseUrlOf(provider.origin, wire, asked),
    hasTools: shape.rounds > 0,
  })
  const ask = async (times) => {
    for (let pass = 0; pass < times; pass += 1) await contender.ask(prompt)
  }
  await ask(warmUps)
  const functions = await callsDuring(() => ask(passes))
  const perUnit = (found) => found.reduce((sum, { count }) => sum + count, 0) / passes / per
  const shown = (number) => number.toFixed(1).replace(/\.0$/, '')
  console.log(`\na ${title}, ${values.wire}`)
  for (const owner of [...new Set(functions.map((each) => each.owner))].sort())
    console.log(`  calls of ${owner}: ${shown(perUnit(functions.filter((each) => each.owner === owner)))}`)
  const ofXState = functions.filter(({ owner }) => owner === 'xstate')
  for (const [step, name] of Object.entries(steps)) {
    // Two functions of one name are the outer and the inner of the same step.
    const most = Math.max(0, ...ofXState.filter((each) => each.name === name).map(({ count }) => count))
    console.log(`  ${step}: ${shown(most / passes / per)}`)
  }
  const most = functions
    .filter(({ owner }) => owner === 'statewire')
    .sort((a, b) => b.count - a.count)
    .slice(0, Number(values.functions))
  for (const { name, count } of most) console.log(`    ${shown(count / passes / per)} ${name}`)
}
provider.stop()
process.exit()
