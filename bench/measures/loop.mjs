const contenders = (wire, peers) => [
  'floor',
  'statewire',
  ...(wire === 'openai-chat' ? ['reader', ...peers] : []),
]

/** Rounds of four calls of an instant tool, then a short answer: processor time of a round. */
export const tools = ({ wireNames, sizes, peers }) =>
  wireNames.map((wire) => ({
    id: `tools/${wire}`,
    title: `a tool round of 4 calls, ${wire}`,
    contenders: contenders(wire, peers),
    job: { task: 'stream', wire, chunks: 20, calls: 4, per: 'round', ...sizes.rounds },
    values: { cpu: { unit: 'µs', goal: { ratio: 2 } } },
  }))

/** One short request after the other: processor time of a whole one. */
export const request = ({ wireNames, sizes, peers }) =>
  wireNames.map((wire) => ({
    id: `request/${wire}`,
    title: `a short request, ${wire}`,
    contenders: contenders(wire, peers),
    job: { task: 'stream', wire, chunks: 5, per: 'request', ...sizes.requests },
    values: { cpu: { unit: 'µs', goal: { ratio: 2 } } },
  }))
