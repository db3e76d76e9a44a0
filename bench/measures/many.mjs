export const streams = ({ sizes: { streams, streamChunks, streamWarmUps }, peers }) => [
  {
    id: 'streams',
    title: `${streams} streams at once`,
    contenders: ['floor', 'reader', 'statewire', ...peers],
    job: { task: 'crowd', pacing: 'paced', chunks: streamChunks, streams, warmUps: streamWarmUps },
    values: {
      cpu: { name: 'a chunk', unit: 'µs', goal: { ratio: 1.15, to: 'reader' } },
      peakRss: { name: 'peak memory', unit: 'MiB', goal: { ratio: 1.5, to: 'floor' } },
      peakHeap: { name: 'peak heap', unit: 'MiB' },
    },
  },
]

/** Chats of pages over HTTP, all at once: processor time of the server, with that of its own requests to the model. */
export const chats = ({ sizes: { streams, streamChunks }, peers }) => [
  {
    id: 'chats',
    title: `${streams} chats at once over HTTP`,
    contenders: [
      'statewire-listener',
      ...peers.filter((peer) => peer === 'ai-sdk').map(() => 'ai-sdk-listener'),
    ],
    job: { task: 'chats', pacing: 'paced', chunks: streamChunks, streams },
    values: {
      cpu: { name: 'a chunk', unit: 'µs' },
      peakHeap: { name: 'peak heap', unit: 'MiB' },
    },
  },
]

/** Agents alive in one process, then all of them running. */
export const agents = ({ sizes: { agents } }) => [
  {
    id: 'agents',
    title: `${agents} agents`,
    contenders: ['statewire'],
    job: { task: 'agents', count: agents },
    // It takes long, and what it counts does not waver.
    repetitions: 3,
    values: {
      agent: { name: 'an idle agent', unit: 'KiB', goal: { most: 8 } },
      actor: { name: 'an idle actor, all of one agent', unit: 'KiB', goal: { most: 8 } },
      agentWithActor: { name: 'an idle actor, each of its own agent', unit: 'KiB', goal: { most: 16 } },
      unfinished: { name: 'not finished when all run at once', unit: 'runs', goal: { most: 0 } },
      peakHeap: { name: 'peak heap when all run at once', unit: 'MiB' },
    },
  },
]

/** Runs one after the other. A run that stayed would keep more than 5 KB. */
export const growth = ({ sizes: { runs } }) => [
  {
    id: 'growth',
    title: `${runs.at(-1)} runs`,
    contenders: ['floor', 'statewire'],
    // It takes long, and what it counts does not waver.
    repetitions: 3,
    job: { task: 'growth', chunks: 5, rounds: 1, calls: 2, marks: runs },
    values: {
      ...Object.fromEntries(runs.map((run) => [`after${run}`, { name: `heap after ${run}`, unit: 'MiB' }])),
      growth: { name: 'growth of the heap with each run', unit: 'bytes', goal: { most: 256 } },
    },
  },
]
