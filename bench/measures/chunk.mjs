import { main, repetitionsOn } from './mainWire.mjs'

const cases = ({ wireNames, sizes, id, title, contenders, goal, job, repetitions }) =>
  Object.entries(sizes.passes).flatMap(([pacing, size]) =>
    wireNames.map((wire) => ({
      id: `${id}/${pacing}/${wire}`,
      title: `${title}, ${pacing}, ${wire}`,
      contenders: contenders(wire),
      job: { task: 'stream', wire, pacing, per: 'chunk', ...size, ...job },
      repetitions: repetitions?.(wire),
      values: { cpu: { unit: 'µs', goal: goal?.(wire) } },
    })),
  )

/** Processor time of a chunk, on every wire: many chunks per network read, and one. */
export const chunk = ({ peers, ...options }) => [
  ...cases({
    ...options,
    id: 'chunk',
    title: 'a chunk',
    contenders: (wire) => [
      'floor',
      'reader',
      'statewire',
      ...(wire === main ? ['statewire-actor', 'statewire-orchestrated', ...peers] : []),
    ],
    goal: (wire) =>
      wire === main ? { ratio: 1.1, to: 'reader', of: ['statewire', 'statewire-actor'] } : undefined,
    repetitions: repetitionsOn,
  }),
  ...(options.wireNames.includes(main) ? typedChunk(options) : []),
]

/** Chunks of a typed answer; floor and reader parse it at its end, statewire shows the value while it grows. */
const typedChunk = ({ sizes }) =>
  cases({
    sizes,
    wireNames: [main],
    id: 'chunk/typed',
    title: 'a chunk of a typed answer',
    contenders: () => ['floor', 'reader', 'statewire-typed'],
    job: { answer: 'json' },
  })

/** Chunks with the local inspector recording, and with a page of it open. It sees deltas, so the wire makes no difference. */
export const inspected = ({ sizes }) => [
  ...cases({
    sizes,
    wireNames: [main],
    id: 'inspected',
    title: 'a chunk, inspected',
    contenders: () => ['floor', 'reader', 'statewire', 'statewire-inspected', 'statewire-watched'],
    goal: () => ({ ratio: 2, to: 'floor', of: ['statewire-inspected', 'statewire-watched'] }),
    repetitions: () => 3,
  }),
  {
    id: 'inspected/lag',
    title: 'a page opens on a long run',
    contenders: ['statewire', 'statewire-inspected'],
    job: { task: 'pageLag', wire: main, pacing: 'slow', calls: 2, ...sizes.pageLag },
    repetitions: 3,
    values: {
      before: { name: 'the loop is blocked before', unit: 'ms' },
      after: {
        name: 'the loop is blocked from then on',
        unit: 'ms',
        goal: { most: 20, of: ['statewire-inspected'] },
      },
    },
  },
]

/** A chunk of a long stream against one of a short stream, and what each keeps of the heap. */
export const flat = ({ wireNames, sizes: { flat } }) => {
  const { chunks, first, others } = flat
  const ratio = (size) => [
    `at${size}`,
    { name: `${size} chunks, against ${chunks}`, unit: '×', goal: { most: 1.1 } },
  ]
  return wireNames.map((wire, index) => {
    const sizes = (index === 0 ? first : others).map((times) => times * chunks)
    return {
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
    }
  })
}
