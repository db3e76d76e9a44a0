/** The contenders that store runs. Another store is another contender, with the exports of `contenders/statewireSqlite.mjs`. */
const stores = ['statewire-sqlite-full', 'statewire-sqlite-normal']

/** DBOS needs a Postgres server, whose URL the environment gives. */
const onPostgres = process.env.BENCH_DATABASE_URL ? ['statewire-dbos'] : []

/** The values of a long run, at each of some steps. */
const atSteps = (steps, values) =>
  Object.fromEntries(
    steps.flatMap((step) =>
      Object.entries(values).map(([key, { name, unit }]) => [
        `${key}${step}`,
        { name: `${name}at step ${step}`, unit },
      ]),
    ),
  )

/** Runs that outlive their process: how many a second, what a step of one costs, and how late others read it. */
export const durable = ({ sizes: { durable, rounds: warm }, peers }) => {
  const { steps, lagChunks, rounds, waiting, stored, ...throughput } = durable
  const job = { task: 'longRun', chunks: 5, rounds: steps.at(-1), calls: 1, steps }
  return [
    {
      id: 'durable/runs',
      title: `runs of one tool round, ${throughput.concurrency} at once`,
      contenders: ['statewire', ...stores, ...onPostgres],
      job: { task: 'throughput', chunks: 20, rounds: 1, calls: 2, ...throughput },
      values: { perSecond: { unit: 'runs/s' } },
    },
    {
      id: 'durable/step',
      title: 'a step of a long run',
      contenders: ['statewire', ...stores],
      job,
      // It takes long.
      repetitions: 3,
      values: atSteps(steps, { step: { name: '', unit: 'ms' } }),
    },
    {
      id: 'durable/round',
      title: `a stored step of a run of ${rounds}, processor time`,
      contenders: [
        'statewire',
        ...stores,
        ...peers.filter((peer) => peer === 'langgraph').flatMap((peer) => [peer, 'langgraph-sqlite']),
      ],
      job: { task: 'stream', chunks: 5, calls: 1, per: 'round', ...warm, rounds },
      repetitions: 3,
      values: { cpu: { unit: 'µs' }, wall: { name: 'time', unit: 'µs' } },
    },
    {
      id: 'durable/waiting',
      title: `${waiting} stored runs that wait for an approval`,
      contenders: ['statewire-sqlite-normal'],
      job: { task: 'waiting', chunks: 5, rounds: 1, calls: 1, count: waiting },
      repetitions: 3,
      values: {
        run: { name: 'heap of each', unit: 'KiB' },
        opened: { name: 'until a process that opens their file has them', unit: 'ms' },
      },
    },
    {
      id: 'durable/opening',
      title: `a store with ${stored} runs is opened`,
      contenders: ['statewire-sqlite-normal'],
      job: { task: 'openStore', chunks: 5, rounds: 1, calls: 1, count: stored },
      repetitions: 3,
      values: {
        opened: { name: 'until it is open', unit: 'ms' },
        listed: { name: 'until 50 are listed', unit: 'ms' },
      },
    },
    {
      id: 'durable/checkpoint',
      title: 'a checkpoint of a long run',
      contenders: stores,
      job,
      repetitions: 3,
      values: atSteps(steps, {
        given: { name: 'given to SQLite ', unit: 'bytes' },
        written: { name: 'written ', unit: 'KiB' },
        time: { name: 'time ', unit: 'ms' },
      }),
    },
    {
      id: 'durable/lag',
      title: 'a reader in another process, later than one in the same',
      contenders: stores,
      job: { task: 'readerLag', pacing: 'slow', chunks: lagChunks },
      values: { median: { name: 'median', unit: 'ms' }, p95: { name: '95 of 100', unit: 'ms' } },
    },
  ]
}
