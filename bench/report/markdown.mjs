import { comparison, row } from './comparison.mjs'
import { goalText, number, ratio } from './table.mjs'

/** The results as a page. */
export const markdown = ({ machine, repetitions, results }) =>
  [
    '# Measured',
    '',
    'Processor time of the client process, medians, against a hand-written floor: undici’s `dispatch`, eventsource-parser,',
    '`JSON.parse` and `+=`, with no errors, limits or state. The provider is a process of its own on loopback; every figure comes',
    `from ${repetitions} fresh processes per contender, which take turns. \`statewire\` is \`for await\` over \`sendStream\`, \`statewire-actor\` an actor with a`,
    'subscriber and a `chunk` listener.',
    '',
    '![Ratios to the floor](results.svg)',
    '',
    ...ownTable(results),
    ...peerTable(results, machine.peers),
    '## Where',
    '',
    `${machine.cpu}, ${machine.memory}, ${machine.system}, Node ${machine.node}, ${machine.date}. statewire ${machine.statewire}, with`,
    `${list(machine.versions)}.`,
    '',
    '## Again',
    '',
    '```sh',
    'npm run bench                                                        # statewire against the floor',
    'npm run bench:peers                                                  # installs the peers into bench/peers, and measures them, too',
    'node bench/run.mjs --only chunk,tools --wires openai-chat --repetitions 3   # a quick look; --help tells the rest',
    '```',
    '',
    'Figures of a busy machine are worthless: nothing else should run.',
    '',
  ].join('\n')

const list = (versions) =>
  Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')

const ownTable = (results) => {
  const rows = results.flatMap(({ title, unit, goal, contenders }) => {
    const floor = contenders.find(({ contender }) => contender === 'floor')
    return contenders
      .filter(({ contender }) => contender.startsWith('statewire'))
      .map((one) => [
        one.contender === 'statewire-actor' ? `${title} (actor)` : title,
        floor?.value === undefined ? '' : `${number(floor.value)} ${unit}`,
        one.failed ?? `${number(one.value)} ${unit}`,
        goal?.ratio === undefined ? '' : ratio(one.ratio),
        goalText(goal, unit),
        one.isMet === undefined ? '' : one.isMet ? 'met' : '**missed**',
      ])
  })
  return [
    row(['measure', 'floor', 'statewire', 'ratio', 'goal', '']),
    row(['---', '---:', '---:', '---:', '---', '---']),
    ...rows.map(row),
    '',
  ]
}

const peerTable = (results, versions) => {
  const failures = results.flatMap(({ title, contenders }) =>
    contenders
      .filter(({ failed }) => failed)
      .map(({ contender, failed }) => `- ${contender}, ${title}: ${failed}`),
  )
  return [
    '## Beside others',
    '',
    'On the OpenAI chat wire: streaming, no retries, no telemetry, the same tool. `reader` is the floor with undici’s `request` and `for await`;',
    'the others are the newest releases that the registry could install and that run on this Node, warmed up in the same way and measured less',
    'often (results.json has every single figure). Ratios to the floor of the same run.',
    '',
    ...comparison(results, versions),
    '',
    ...(failures.length > 0 ? [...failures, ''] : []),
  ]
}
