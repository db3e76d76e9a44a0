/**
 * The amount of everything that is measured: the same for every contender, peers as well. A peer takes up to fifty times as
 * long, so that these sizes are what a whole run of them all can do in less than half an hour.
 */
export const fullSizes = {
  passes: {
    bulk: { chunks: 10_000, warmUps: 4, passes: 4 },
    // A network read for each chunk: fewer of them take longer.
    paced: { chunks: 4_000, warmUps: 1, passes: 1 },
  },
  // A million chunks on one wire; the decoders of the others show it sooner, too.
  flat: { chunks: 10_000, first: [10, 100], others: [10] },
  // What a server does all day: after the compiler has seen it.
  rounds: { rounds: 10, warmUps: 18, passes: 12 },
  requests: { warmUps: 250, passes: 200 },
  longLoop: { rounds: 100, resultSize: 10_000, warmUps: 1, passes: 1 },
  streams: 200,
  streamChunks: 120,
  // One after the other, before all come at once.
  streamWarmUps: 20,
  agents: 10_000,
  runs: [2500, 5000, 7500, 10_000],
  aborts: 50,
  firstTokens: 200,
  pageLag: { rounds: 200, chunks: 600 },
  durable: {
    count: 400,
    concurrency: 16,
    warmUps: 50,
    steps: [10, 100, 1000],
    lagChunks: 400,
    rounds: 20,
    waiting: 1000,
    stored: 100_000,
  },
}

/** Enough to see that everything runs; the figures mean nothing. */
export const smallSizes = {
  passes: {
    bulk: { chunks: 200, warmUps: 1, passes: 1 },
    paced: { chunks: 200, warmUps: 1, passes: 1 },
  },
  flat: { chunks: 200, first: [2, 5], others: [2] },
  rounds: { rounds: 2, warmUps: 1, passes: 1 },
  requests: { warmUps: 1, passes: 5 },
  longLoop: { rounds: 4, resultSize: 1000, warmUps: 1, passes: 1 },
  streams: 10,
  streamChunks: 50,
  streamWarmUps: 1,
  agents: 50,
  runs: [5, 10],
  aborts: 3,
  firstTokens: 3,
  pageLag: { rounds: 3, chunks: 100 },
  durable: {
    count: 10,
    concurrency: 2,
    warmUps: 2,
    steps: [10, 20],
    lagChunks: 40,
    rounds: 2,
    waiting: 5,
    stored: 50,
  },
}

/** Sizes with streams of another length. */
export const withChunks = (sizes, chunks) => ({
  ...sizes,
  passes: Object.fromEntries(
    Object.entries(sizes.passes).map(([pacing, each]) => [pacing, { ...each, chunks }]),
  ),
  flat: { ...sizes.flat, chunks },
})
