const cases = ({ wireNames, sizes, id, title, contenders, goal }) =>
  Object.keys(sizes.passes).flatMap((pacing) =>
    wireNames.map((wire) => ({
      id: `${id}/${pacing}/${wire}`,
      title: `${title}, ${pacing}, ${wire}`,
      contenders: contenders(wire),
      job: { task: 'stream', wire, pacing, chunks: sizes.chunks, per: 'chunk', ...sizes.passes[pacing] },
      values: { cpu: { unit: 'µs', goal } },
    })),
  )

/** Processor time of a chunk, on every wire: many chunks per network read, and one. */
export const chunk = ({ peers, ...options }) =>
  cases({
    ...options,
    id: 'chunk',
    title: 'a chunk',
    contenders: (wire) => [
      'floor',
      'statewire',
      'statewire-actor',
      ...(wire === 'openai-chat' ? ['reader', ...peers] : []),
    ],
    goal: { ratio: 1.3 },
  })

/** The same with the local inspector recording, and with a page of it open; it sees deltas and knows no wires. */
export const inspected = ({ sizes }) =>
  cases({
    sizes,
    wireNames: ['openai-chat'],
    id: 'inspected',
    title: 'a chunk, inspected',
    contenders: () => ['floor', 'statewire-inspected', 'statewire-watched'],
    goal: { ratio: 2 },
  })

/** A chunk of a long stream against one of a short stream, and what each keeps of the heap. */
export const flat = ({ wireNames, sizes: { chunks, longer } }) => {
  const sizes = longer.map((times) => times * chunks)
  const ratio = (size) => [
    `at${size}`,
    { name: `${size} chunks, against ${chunks}`, unit: '×', goal: { most: 1.1 } },
  ]
  return wireNames.map((wire) => ({
    id: `flat/${wire}`,
    title: `a long stream, ${wire}`,
    contenders: ['floor', 'statewire'],
    job: { task: 'flat', wire, chunks, sizes },
    // Each takes long, and its figures are ratios of one process to itself.
    repetitions: 3,
    values: {
      ...Object.fromEntries(sizes.map(ratio)),
      heap: { name: 'heap kept per chunk', unit: 'bytes', goal: { most: 60 } },
    },
  }))
}
