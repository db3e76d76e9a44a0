/** Who keeps runs, and how. Another store is another contender: it gives what `contenders/statewireSqlite.mjs` gives. */
const keepers = ['statewire-sqlite-full', 'statewire-sqlite-normal']

/** DBOS needs a Postgres server, whose URL the environment gives. */
const onPostgres = process.env.BENCH_DATABASE_URL ? ['statewire-dbos'] : []

/** Runs that outlive their process: how many a second, what a step of one writes, and how late others read it. */
export const durable = ({ sizes: { durable } }) => [
  {
    id: 'durable/runs',
    title: `runs of one tool round, ${durable.atOnce} at once`,
    contenders: ['statewire', ...keepers, ...onPostgres],
    job: { task: 'throughput', chunks: 20, rounds: 1, calls: 2, ...durable },
    values: { perSecond: { unit: 'runs/s' } },
  },
  {
    id: 'durable/checkpoint',
    title: 'a checkpoint',
    contenders: keepers,
    job: { task: 'checkpoints', chunks: 5, rounds: durable.steps.at(-1), calls: 1, steps: durable.steps },
    // It takes long, and what it counts does not waver.
    repetitions: 3,
    values: Object.fromEntries(
      durable.steps.flatMap((step) => [
        [`given${step}`, { name: `given to SQLite at step ${step}`, unit: 'bytes' }],
        [`written${step}`, { name: `written at step ${step}`, unit: 'KiB' }],
        [`time${step}`, { name: `time at step ${step}`, unit: 'ms' }],
      ]),
    ),
  },
  {
    id: 'durable/lag',
    title: 'a reader in another process',
    contenders: keepers,
    job: { task: 'readerLag', pacing: 'slow', chunks: durable.lagChunks },
    values: {
      median: { name: 'later than in the process of the run, median', unit: 'ms' },
      p95: { name: 'later than in the process of the run, 95 of 100', unit: 'ms' },
    },
  },
]
