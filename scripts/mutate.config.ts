import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import './bareEnvironment.ts'

const { MUTATION_TESTS = 'test/{engine,orchestrators,providers}/**/*.test.ts' } = process.env

/**
 * The tests that `npm run mutate` runs for each mutant: quick ones, without many sockets. Files share one module graph,
 * because loading it costs more than most tests. What starts processes would not see the mutants.
 */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: MUTATION_TESTS.split(' '),
    exclude: [
      ...configDefaults.exclude,
      '**/{browser,clients,leaks,approvalProcess,typedWires,paths,kills,exhaustive,processes,everyCommit,crashes,mangled,cuts,framing}.test.ts',
    ],
    setupFiles: ['test/registry.ts', 'test/mutation/fewRuns.ts'],
    testTimeout: 5_000,
    expect: { poll: { timeout: 3_000 } },
    isolate: false,
  },
})
