import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import './bareEnvironment.ts'

const { env } = process

/** `npm run proof`: what `npm test` takes a part of, all of it. `PROOF_SEED` begins the random walks elsewhere. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: 'test/registry.ts',
    globalSetup: 'scripts/page.ts',
    include: [
      'test/api/{walk,tampering}.test.ts',
      'test/docs/site.test.ts',
      'test/durable/{everyCommit,exhaustive}.test.ts',
      'test/hostile/mangled.test.ts',
      'test/inspector/accessibility.test.ts',
      'test/machines/paths.test.ts',
      'test/proof/{abortsElsewhere,costs,cuts,longRunFaults,secrets,splits}.test.ts',
      'test/recordings/streams.test.ts',
      'test/visualize/visualizations.test.ts',
    ],
    testTimeout: 600_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    env: {
      PROOF: '1',
      PROOF_SEED: env.PROOF_SEED ?? `${Date.now() % 2 ** 31}`,
      ...(env.PROOF_EPISODES && { PROOF_EPISODES: env.PROOF_EPISODES }),
    },
  },
})
