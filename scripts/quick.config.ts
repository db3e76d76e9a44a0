import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import './bareEnvironment.ts'

/**
 * `npm run test:quick`: the inner loop. Files share one module graph, because loading it costs more than most tests; what
 * starts processes, servers or a browser is left to `npm test`.
 */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: ['test/registry.ts', 'test/leftovers.ts'],
    include: [
      'test/{architecture,engine,models,orchestrators,providers,schema}/**/*.test.ts',
      'test/machines/modelCheck.test.ts',
    ],
    exclude: ['**/{leaks,approvalProcess,typedWires}.test.ts'],
    testTimeout: 30_000,
    maxWorkers: 2,
    isolate: false,
  },
})
