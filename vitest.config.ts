import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest, the longest first: begun last, one of them would keep the rest of the machine waiting. */
const longest = [
  'package/package',
  'machines/paths',
  'dbos/failures',
  'dbos/kills',
  'durable/kills',
  'mcp/restart',
  'bench/harness',
  'docs/blocks',
  'durable/exhaustive',
  'cli/runs',
  'examples/react',
  'docs/generated',
  'inspector/',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.includes(`/test/${name}`))
      return at === -1 ? longest.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The page of the inspector needs one file that is built.
    globalSetup: '.ci/page.ts',
    // Wide, because a test may only fail for what it finds, never for a machine that is busy with something else. A hang still ends.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Many tests wait for processes and timers: two of them at a time keep even a small machine busy.
    maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
    sequence: { sequencer: LongestFirst },
    // A promise nobody waits for is a bug of ours: it fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
  },
})
