import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import './scripts/bareEnvironment.ts'

/** What takes longest, the longest first: begun last, one of them would keep the rest of the machine waiting. */
const longest = [
  'package/package',
  'machines/paths',
  'dbos/',
  'bench/harness',
  'docs/blocks',
  'examples/react',
  'docs/generated',
  'mcp/restart',
  'durable/kills',
  'durable/exhaustive',
  'inspector/',
  'cli/runs',
  'recordings/streams',
]

/** Folders whose tests leave nothing behind: their files share a process, because loading the modules takes longer than most tests. */
const shared = [
  ...['aimock', 'api', 'architecture', 'cli', 'durable', 'engine', 'hostile', 'inspector', 'mcp', 'models'],
  ...[
    'orchestrators',
    'portability',
    'prefixes',
    'providers',
    'recordings',
    'schema',
    'simulator',
    'stored',
    'telemetry',
  ],
  ...['testing', 'transport', 'ui', 'visualize'],
]

/** In those folders: what measures memory or time, replaces packages, adds providers or ends processes. They need a process of their own. */
const alone =
  '**/{approvalProcess,crashes,flowingText,leaks,missingPackages,providers,typedWires,withoutUndici}.test.ts'

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.includes(`/test/${name}`))
      const place = found === -1 ? longest.length : found
      // A process is shared by files that follow each other.
      return project.config.isolate ? place : place + longest.length + 1
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    // The page of the inspector needs one file that is built.
    globalSetup: 'scripts/page.ts',
    setupFiles: 'test/registry.ts',
    // Wide, because a test may only fail for what it finds, never for a machine that is busy with something else. A hang still ends.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Many tests wait for processes and timers: four files at a time keep even a small machine busy.
    maxWorkers: Math.max(4, Math.floor(availableParallelism() / 2)),
    sequence: { sequencer: LongestFirst },
    // XState warns of each event that reaches an actor which has ended. Tests that interrupt runs send thousands.
    onConsoleLog: (text) => !text.includes('was sent to stopped actor'),
    // A promise nobody waits for is a bug of ours: it fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: [`test/!(${shared.join('|')})/**/*.test.ts`, `test/${alone}`] },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: [`test/{${shared.join(',')}}/**/*.test.ts`],
          exclude: [...configDefaults.exclude, alone],
          isolate: false,
          setupFiles: ['test/registry.ts', 'test/leftovers.ts'],
        },
      },
    ],
  },
})
