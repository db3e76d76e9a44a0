/** How much of everything is measured. */
export const fullSizes = {
  chunks: 10_000,
  longer: [10, 100],
  passes: { bulk: { warmUps: 5, passes: 10 }, paced: { warmUps: 1, passes: 1 } },
  // What a server does all day: after the compiler has seen it.
  rounds: { rounds: 10, warmUps: 40, passes: 40 },
  requests: { warmUps: 500, passes: 500 },
  streams: 200,
  streamChunks: 500,
  agents: 10_000,
  runs: [500, 1000, 1500, 2000],
  aborts: 50,
  firstTokens: 200,
}

/** Enough to see that everything runs; the figures mean nothing. */
export const smallSizes = {
  chunks: 200,
  longer: [2, 5],
  passes: { bulk: { warmUps: 1, passes: 1 }, paced: { warmUps: 1, passes: 1 } },
  rounds: { rounds: 2, warmUps: 1, passes: 1 },
  requests: { warmUps: 1, passes: 5 },
  streams: 10,
  streamChunks: 50,
  agents: 50,
  runs: [5, 10],
  aborts: 3,
  firstTokens: 3,
}
