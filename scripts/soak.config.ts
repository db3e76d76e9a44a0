import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import './bareEnvironment.ts'

const { env } = process

/** `npm run soak`: the random runs and the random kills of `npm test`, for as long as wanted. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: [
      'test/proof/soak.test.ts',
      'test/durable/kills.test.ts',
      'test/durable/interleavings.test.ts',
      'test/durable/powerLoss.test.ts',
      'test/dbos/kills.test.ts',
    ],
    // Each of them keeps the whole machine busy.
    fileParallelism: false,
    env: {
      SOAK_MINUTES: env.SOAK_MINUTES ?? '5',
      SOAK_SEED: env.SOAK_SEED ?? `${Date.now() % 2 ** 31}`,
      DURABLE_KILLS: env.DURABLE_KILLS ?? '200',
      DURABLE_RUNS: env.DURABLE_RUNS ?? '500',
      DURABLE_SEED: env.DURABLE_SEED ?? `${Date.now() % 2 ** 31}`,
      // All of them, and many random runs.
      INTERLEAVINGS: env.INTERLEAVINGS ?? '1',
      POWER_SEEDS: env.POWER_SEEDS ?? '50',
      DBOS_KILLS: env.DBOS_KILLS ?? '20',
      DBOS_RUNS: env.DBOS_RUNS ?? '100',
      PROOF_SEED: env.PROOF_SEED ?? `${Date.now() % 1_000_000}`,
    },
    disableConsoleIntercept: true,
  },
})
