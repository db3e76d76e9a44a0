import { peers } from '../peers/index.mjs'
import { comparison, row } from './comparison.mjs'
import { goalTable } from './goals.mjs'
import { goalText, number, ratio } from './table.mjs'

/** The results as a page. */
export const markdown = ({ machine, repetitions, minutes, skipped, results }) =>
  [
    '# Measured',
    '',
    `Of ${machine.date}, statewire ${machine.statewire}.`,
    '',
    `Processor time of the client process on Node ${machine.node}, medians. Ratios are to the \`reader\`, which is what a good engineer would write by`,
    'hand: undici’s `request`, `for await`, eventsource-parser, `JSON.parse` and `+=`. Beside it is the `floor`, the same on undici’s',
    '`dispatch`, which hardly any program uses. Both have no errors, limits or state. The provider is a process of its own on loopback; every figure comes',
    `from ${repetitions} fresh processes (fewer where the table says so), the contenders take turns, and all have the same number of processes and warm-ups.`,
    '`statewire` is `for await` over `sendStream`.',
    '',
    ...goalTable(results, machine.node),
    '![Ratios to the reader](results.svg)',
    '',
    '## Everything',
    '',
    ...ownTable(results, repetitions),
    ...peerTable({ results, versions: machine.peers, skipped }),
    '## Where',
    '',
    `${machine.cpu}, ${machine.memory}, ${machine.system}, Node ${machine.node}, ${machine.date}, in ${Math.round(minutes)} min. statewire ${machine.statewire}, with`,
    `${list(machine.versions)}.`,
    '',
    '## Again',
    '',
    '```sh',
    'npm run bench                                                        # statewire against the reader',
    'npm run bench:peers                                                  # installs the peers from their lock file, and measures them, too',
    'npx -p node@24 node bench/run.mjs --peers                            # the same on another Node',
    'npm run bench -- --only durable                                      # only what stored runs cost',
    'node bench/run.mjs --only chunk,tools --wires openai-chat --repetitions 3   # a quick look; --help lists the rest',
    '```',
    '',
    'Figures of a busy machine are worthless: nothing else should run.',
    '',
  ].join('\n')

const list = (versions) =>
  Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')

/** The contenders that differ from `for await` over `sendStream`. */
const ways = {
  'statewire-actor': 'an actor with a subscriber and a listener',
  'statewire-orchestrated': 'reasoningOrchestrator',
  'statewire-typed': 'sendStreamFor',
  'statewire-send-for': 'sendFor',
  'statewire-inspected': 'the inspector records',
  'statewire-watched': 'a page of the inspector is open',
  'statewire-sqlite-full': 'stored, synchronous full',
  'statewire-sqlite-normal': 'stored, synchronous normal',
}

const ownTable = (results, repetitions) => {
  const rows = results.flatMap(({ title, unit, goal, contenders }) => {
    const figure = (name) => {
      const value = contenders.find(({ contender }) => contender === name)?.value
      return value === undefined ? '' : `${number(value)} ${unit}`
    }
    return contenders
      .filter(({ contender }) => contender.startsWith('statewire'))
      .map((one) => [
        [title, ways[one.contender] && ` (${ways[one.contender]})`, fewer(one.all, repetitions)].join(''),
        figure('floor'),
        figure('reader'),
        one.failed ?? `${number(one.value)} ${unit}`,
        ratio(one.ratio),
        ratio(one.toFloor),
        one.isMet === undefined ? '' : goalText(goal, unit),
        one.isMet === undefined ? '' : one.isMet ? 'met' : '**missed**',
      ])
  })
  return [
    row(['measure', 'floor', 'reader', 'statewire', 'to the reader', 'to the floor', 'goal', '']),
    row(['---', '---:', '---:', '---:', '---:', '---:', '---', '---']),
    ...rows.map(row),
    '',
  ]
}

/** A remark on a figure from fewer processes than the page says at its top. */
const fewer = (all, repetitions) =>
  all && all.length < repetitions ? `, ${all.length === 1 ? 'once' : `${all.length} processes`}` : ''

const peerTable = ({ results, versions, skipped }) => {
  const failures = results.flatMap(({ title, contenders }) =>
    contenders
      .filter(({ failed }) => failed)
      .map(({ contender, failed }) => `- ${contender}, ${title}: ${failed}`),
  )
  const notes = [
    ...Object.keys(versions)
      .filter((peer) => peers[peer]?.note)
      .map((peer) => `- ${peer}: ${peers[peer].note}`),
    ...Object.entries(skipped).map(([peer, reason]) => `- ${peer} is left out: ${reason}`),
    ...failures,
  ]
  return [
    '## Beside others',
    '',
    'On the OpenAI chat wire: streaming, no retries, no telemetry, the same tool; as many processes and warm-ups as statewire (results.json',
    'has every single figure). Ratios to the reader of the same run.',
    '',
    ...comparison(results, versions),
    '',
    ...(notes.length > 0 ? [...notes, ''] : []),
  ]
}
