import { BroadcastChannel } from 'node:worker_threads'
import { type File, startTests, type Test, type VitestRunner } from '@vitest/runner'
import { getTests } from '@vitest/runner/utils'
import { TestRunner } from 'vitest'
import type { Answer, Command, Tried } from './commands.ts'

/** A mutant that tests of so many milliseconds did not notice counts as not noticed: some lines are run by every test. */
const longestTry = 10_000

/** Time of the processor, so that a busy machine gives the same score. */
const busy = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** What Stryker's changed code reads and counts. */
type Namespace = {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  mutantCoverage?: unknown
}
const mutation: Namespace = {}
Object.assign(globalThis, { __stryker__: mutation })

const nameOf = ({ name, suite }: { name: string; suite?: Test['suite'] }): string =>
  suite ? `${nameOf(suite)} ${name}`.trim() : name

const idOf = (test: Test): string => `${test.file.filepath}#${nameOf(test)}`

const isFailed = (test: Test): boolean => test.result?.state === 'fail'

/**
 * A runner that never ends: it loads the tests and the code once, and runs what it is asked to. Loading costs a second or
 * two, most tests cost milliseconds, and there are thousands of mutants.
 */
export default class ResidentRunner extends TestRunner {
  /** How often a test file noticed a mutant of a source file, and how long it took: the best one is asked first. */
  private readonly records = new Map<string, { noticed: number; ms: number }>()

  override async importFile(): Promise<unknown> {
    const channel = new BroadcastChannel(process.env.MUTANTS_CHANNEL ?? '')
    const answer = (message: Answer): void => channel.postMessage(message)
    channel.onmessage = async ({ data }) => {
      const command = data as Command
      answer(command.type === 'dryRun' ? await this.dryRun(command.files) : await this.tryMutant(command))
    }
    answer({ type: 'ready' })
    return new Promise(() => {})
  }

  /** One file, once: the chosen tests, up to the first that fails, with a mutant switched on as soon as they are known. */
  private async visit(
    filepath: string,
    chosen?: Set<string>,
    mutant?: string,
    until = Number.POSITIVE_INFINITY,
  ): Promise<File> {
    let hasFailed = false
    const runner: VitestRunner = Object.assign(Object.create(this) as ResidentRunner, {
      // A mutant may keep a test waiting for ever. Without one, only a busy machine is slow.
      config: { ...this.config, testTimeout: mutant === undefined ? 60_000 : this.config.testTimeout },
      // The tests are reported to this runner alone.
      onCollectStart: () => {},
      onTaskUpdate: async () => {},
      // Files for setup are evaluated again each time, and so must this one be; what it imports stays loaded.
      importFile: (path: string) => super.importFile(path, 'setup'),
      onCollected: () => {
        mutation.activeMutant = mutant
      },
      onBeforeRunTask: async (test: Test) => {
        if (hasFailed || busy() > until || (chosen && !chosen.has(idOf(test)))) test.mode = 'skip'
        await super.onBeforeRunTask(test)
      },
      onBeforeTryTask: (test: Test) => {
        mutation.currentTestId = idOf(test)
        super.onBeforeTryTask(test)
      },
      onAfterRunTask: (test: Test) => {
        mutation.currentTestId = undefined
        hasFailed ||= mutant !== undefined && isFailed(test)
        super.onAfterRunTask(test)
      },
    })
    try {
      const [file] = await startTests([{ filepath, testLocations: undefined }], runner)
      if (!file) throw new Error(`Vitest knows nothing of ${filepath}.`)
      return file
    } finally {
      mutation.activeMutant = undefined
    }
  }

  private async dryRun(files: string[]): Promise<Answer> {
    const tests: Tried[] = []
    for (const filepath of files) {
      const file = await this.visit(filepath)
      for (const test of getTests(file))
        tests.push({
          id: idOf(test),
          ms: test.result?.duration ?? 0,
          outcome: isFailed(test) ? 'failed' : test.result?.state === 'pass' ? 'passed' : 'skipped',
          message: test.result?.errors?.[0]?.message ?? '',
        })
      if (file.result?.errors?.length)
        tests.push({ id: filepath, ms: 0, outcome: 'failed', message: file.result.errors[0]?.message ?? '' })
    }
    return { type: 'dryRun', tests, mutantCoverage: mutation.mutantCoverage }
  }

  private async tryMutant({
    mutant,
    source,
    hitLimit,
    tests,
  }: Command & { type: 'mutant' }): Promise<Answer> {
    const byFile = new Map<string, string[]>()
    for (const id of tests) {
      const path = id.slice(0, id.indexOf('#'))
      byFile.set(path, [...(byFile.get(path) ?? []), id])
    }
    // Few tests that reach a line are those that are about it.
    const recordOf = (path: string) =>
      this.records.get(`${source} ${path}`) ?? { noticed: 1, ms: 10 * (byFile.get(path)?.length ?? 1) }
    const worth = (path: string): number => recordOf(path).noticed / (recordOf(path).ms + 10)
    const until = busy() + longestTry
    let ran = 0
    Object.assign(mutation, { hitLimit, hitCount: 0 })
    for (const [path, ids] of [...byFile].sort(([a], [b]) => worth(b) - worth(a))) {
      const began = busy()
      if (began > until) break
      const file = await this.visit(path, new Set(ids), mutant, until)
      const all = getTests(file)
      ran += all.filter(({ result }) => result?.state === 'pass' || result?.state === 'fail').length
      const killer = all.find(isFailed)
      const message = killer?.result?.errors?.[0]?.message ?? file.result?.errors?.[0]?.message
      const noticed = killer !== undefined || message !== undefined
      const record = recordOf(path)
      this.records.set(`${source} ${path}`, {
        noticed: record.noticed + Number(noticed),
        ms: record.ms + busy() - began,
      })
      if (!noticed) continue
      const hitCount = mutation.hitCount
      // The mutant may have left something behind that fails every test from here on.
      const after = await this.visit(path, new Set(killer ? [idOf(killer)] : ids))
      const isSpoiled = getTests(after).some(isFailed) || Boolean(after.result?.errors?.length)
      return {
        type: 'mutant',
        killedBy: [killer ? idOf(killer) : path],
        message: message ?? '',
        ran,
        hitCount,
        isSpoiled,
      }
    }
    return { type: 'mutant', killedBy: [], message: '', ran, hitCount: mutation.hitCount, isSpoiled: false }
  }
}
