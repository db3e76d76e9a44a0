// Runs the tests for Stryker in one thread that keeps them loaded. Its own runner loads them again for each mutant.
import { BroadcastChannel } from 'node:worker_threads'
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin'
import {
  DryRunStatus,
  determineHitLimitReached,
  MutantRunStatus,
  TestStatus,
} from '@stryker-mutator/api/test-runner'
import { createVitest } from 'vitest/node'
import { isChosen } from './sample.mjs'

const statusOf = { passed: TestStatus.Success, failed: TestStatus.Failed, skipped: TestStatus.Skipped }

class ResidentTests {
  static inject = tokens(commonTokens.options)

  /** A mutant that was also reached while files were loaded is tried in what runs: nothing is loaded again for it. */
  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    process.env.VITEST = '1'
    await this.load()
  }

  /** Each thread has a channel of its own: one that is left may still have something to say. */
  async load() {
    this.channel?.close()
    this.loads = (this.loads ?? 0) + 1
    process.env.MUTANTS_CHANNEL = `mutants ${process.pid} ${this.loads}`
    this.channel = new BroadcastChannel(process.env.MUTANTS_CHANNEL)
    this.channel.onmessage = ({ data }) => this.onAnswer?.(data)
    this.vitest = await createVitest('test', {
      config: 'scripts/mutate.config.ts',
      runner: './test/mutation/residentRunner.ts',
      pool: 'threads',
      maxWorkers: 1,
      watch: false,
      reporters: [{}],
      onConsoleLog: () => false,
    })
    const files = await this.vitest.globTestSpecifications()
    this.files = files.map(({ moduleId }) => moduleId)
    const ready = new Promise((resolve) => {
      this.onAnswer = resolve
    })
    this.vitest.runTestSpecifications(files.slice(0, 1)).catch(() => {})
    await ready
  }

  ask(command) {
    return new Promise((resolve) => {
      this.onAnswer = resolve
      this.channel.postMessage(command)
    })
  }

  async dryRun() {
    const { tests, mutantCoverage } = await this.ask({ type: 'dryRun', files: this.files })
    return {
      status: DryRunStatus.Complete,
      mutantCoverage,
      tests: tests.map(({ id, ms, outcome, message }) => ({
        id,
        name: id.slice(id.indexOf('#') + 1),
        fileName: id.slice(0, id.indexOf('#')),
        timeSpentMs: ms,
        status: statusOf[outcome],
        failureMessage: message,
      })),
    }
  }

  async mutantRun(options) {
    const { activeMutant, hitLimit, testFilter = [] } = options
    // What has an error has no part in the score.
    if (!isChosen(activeMutant)) return { status: MutantRunStatus.Error, errorMessage: 'Not in the sample.' }
    const { killedBy, message, ran, hitCount, isSpoiled } = await this.ask({
      type: 'mutant',
      mutant: activeMutant.id,
      source: activeMutant.fileName,
      hitLimit,
      tests: testFilter,
    })
    if (isSpoiled && !options.isSecond) {
      await this.vitest.close()
      await this.load()
      return this.mutantRun({ ...options, isSecond: true })
    }
    const endless = determineHitLimitReached(hitCount, hitLimit)
    if (endless) return endless
    return killedBy.length === 0
      ? { status: MutantRunStatus.Survived, nrOfTests: ran }
      : { status: MutantRunStatus.Killed, killedBy, failureMessage: message, nrOfTests: ran }
  }

  async dispose() {
    this.channel.close()
    await this.vitest.close()
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'resident', ResidentTests)]
