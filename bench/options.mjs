import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { measures } from './measures/index.mjs'
import { nodeAt } from './processes.mjs'
import { fullSizes, smallSizes, withChunks } from './sizes.mjs'
import { wires } from './wires/index.mjs'

export const usage = `node bench/run.mjs [options]
  --only chunk,tools       some measures (${Object.keys(measures).join(', ')})
  --wires openai-chat,…    some wires (${Object.keys(wires).join(', ')})
  --contenders floor,…     some contenders
  --repetitions 5          processes per contender and case, peers included
  --chunks 10000           chunks of a stream
  --small                  little of everything: only to see that it runs
  --peers                  the peers, too (npm run bench:peers installs them first)
  --node binary            the Node that is measured, if not the one that runs this
  --dist dist              another build of statewire
  --profiles folder        CPU profiles of what is measured
  --output folder          where results.json, RESULTS.md and results.svg go: bench after a whole run,
                           nowhere after a partial one
  --no-write               only show the table`

const list = (text) => text?.split(',').map((item) => item.trim())

export const readOptions = (args) => {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      only: { type: 'string' },
      wires: { type: 'string' },
      contenders: { type: 'string' },
      repetitions: { type: 'string', default: '5' },
      chunks: { type: 'string' },
      small: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      node: { type: 'string', default: process.execPath },
      dist: { type: 'string' },
      profiles: { type: 'string' },
      output: { type: 'string' },
      write: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  })
  // Child processes learn of these two through their environment.
  if (values.profiles) process.env.BENCH_PROFILES = resolve(values.profiles)
  if (values.dist) process.env.BENCH_STATEWIRE = pathToFileURL(`${resolve(values.dist)}/`).href
  const sizes = values.small ? smallSizes : fullSizes
  return {
    only: list(values.only),
    wireNames: list(values.wires) ?? Object.keys(wires),
    contenders: list(values.contenders),
    repetitions: Number(values.repetitions),
    sizes: values.chunks ? withChunks(sizes, Number(values.chunks)) : sizes,
    node: nodeAt(values.node),
    withPeers: values.peers,
    output: values.write ? outputOf(values) : undefined,
    isHelp: values.help,
  }
}

/** A partial run must not replace the figures of a whole one, unless an option says so. */
const outputOf = ({ output, only, wires, contenders, chunks, small, dist }) => {
  if (output) return resolve(output)
  const isWhole = !(only || wires || contenders || chunks || small || dist)
  return isWhole ? fileURLToPath(new URL('.', import.meta.url)) : undefined
}
