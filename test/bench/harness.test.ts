import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Contender = { contender: string; value?: number; ratio?: number; failed?: string; all?: number[] }
type Report = { machine: { node: string }; results: { id: string; contenders: Contender[] }[] }

// Below node_modules, so that the build finds its packages; apart from dist, because that one belongs to the build.
const folder = join('node_modules', '.cache', `statewire-bench-${process.pid}`)
const dist = join(folder, 'dist')

const bench = async (...args: string[]): Promise<Report> => {
  const small = ['--small', '--repetitions', '1']
  const files = ['--dist', dist, '--output', folder]
  await promisify(execFile)(process.execPath, ['bench/run.mjs', ...small, ...files, ...args])
  return JSON.parse(await readFile(join(folder, 'results.json'), 'utf8'))
}

const failures = ({ results }: Report) =>
  results.flatMap(({ contenders }) => contenders.filter(({ failed }) => failed !== undefined))

beforeAll(async () => {
  const entry = { index: 'src/index.ts', durable: 'src/durable/index.ts' }
  await build({ entry, outDir: dist, format: 'esm', target: 'node20', silent: true, config: false })
}, 180_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the benchmark', () => {
  // A contender whose text is not the provider's fails its job.
  it('gets the same text by hand and from statewire after tool rounds, on every wire', async () => {
    const report = await bench('--only', 'tools')
    expect(failures(report)).toEqual([])
    const wires = ['openai-chat', 'openai-responses', 'anthropic', 'google', 'ollama']
    expect(report.results.map(({ id }) => id)).toEqual(wires.map((wire) => `tools/${wire}`))
    for (const { contenders } of report.results) {
      expect(contenders.map(({ contender }) => contender)).toEqual(['floor', 'reader', 'statewire'])
      for (const { value } of contenders) expect(value).toBeGreaterThan(0)
      expect(contenders[1]?.ratio).toBe(1)
    }
  }, 300_000)

  it('gets the whole text through an orchestrator and out of typed answers', async () => {
    const report = await bench('--only', 'chunk,typed', '--wires', 'openai-chat')
    expect(failures(report)).toEqual([])
    const measured = report.results.map(({ id, contenders }) => [id, contenders.at(-1)?.contender])
    expect(measured).toEqual([
      ['chunk/bulk/openai-chat', 'statewire-orchestrated'],
      ['chunk/paced/openai-chat', 'statewire-orchestrated'],
      ['chunk/typed/bulk/openai-chat', 'statewire-typed'],
      ['chunk/typed/paced/openai-chat', 'statewire-typed'],
      ['typed/one/openai-chat', 'statewire-send-for'],
      ['typed/inline/openai-chat', 'statewire-send-for'],
    ])
  }, 300_000)

  it('sees a provider’s socket close, and writes what it measured as JSON, as a page and as a picture', async () => {
    const report = await bench('--only', 'abort,firstToken')
    expect(failures(report)).toEqual([])
    const ids = report.results.map(({ id }) => id)
    expect(ids).toEqual(['abort', 'firstToken/later', 'firstToken/laterThanFloor'])
    expect(report.machine.node).toBe(process.version)
    const page = await readFile(join(folder, 'RESULTS.md'), 'utf8')
    expect(page).toContain('| abort to closed socket |')
    expect(page).toContain(`on Node ${process.version}`)
    expect(await readFile(join(folder, 'results.svg'), 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
  }, 300_000)

  it('keeps runs in a file, and another process reads along', async () => {
    const report = await bench('--only', 'durable')
    expect(failures(report)).toEqual([])
    const measured = report.results.map(({ id, contenders }) => [id, contenders.length])
    const at = (what: string) => [10, 20].map((step) => `${what}${step}`)
    expect(measured).toEqual([
      ['durable/runs', 3],
      ...at('durable/step/step').map((id) => [id, 3]),
      ...['round/cpu', 'round/wall'].map((id) => [`durable/${id}`, 3]),
      ...['waiting/run', 'waiting/opened', 'opening/opened', 'opening/listed'].map((id) => [
        `durable/${id}`,
        1,
      ]),
      ...[10, 20].flatMap((step) =>
        ['given', 'written', 'time'].map((what) => [`durable/checkpoint/${what}${step}`, 2]),
      ),
      ['durable/lag/median', 2],
      ['durable/lag/p95', 2],
    ])
    for (const { contenders } of report.results)
      for (const { value } of contenders) expect(value).toBeGreaterThan(0)
  }, 300_000)

  it('measures the Node of the option --node, and says which one that is', async () => {
    // Another version, as far as the caller can see.
    const other = join(folder, 'node')
    const answer = `[ "$1" = -p ] && echo v99.1.0 && exit`
    await writeFile(other, `#!/bin/sh\n${answer}\nexec ${JSON.stringify(process.execPath)} "$@"\n`)
    await chmod(other, 0o755)
    const report = await bench('--only', 'abort', '--node', `./${other}`)
    expect(failures(report)).toEqual([])
    expect(report.machine.node).toBe('v99.1.0')
  }, 180_000)

  it('leaves the published results alone after a partial run', async () => {
    const before = existsSync('bench/results.json') && (await readFile('bench/results.json', 'utf8'))
    await promisify(execFile)(process.execPath, [
      'bench/run.mjs',
      ...['--small', '--repetitions', '1', '--contenders', 'floor', '--only', 'abort'],
    ])
    expect(existsSync('bench/results.json') && (await readFile('bench/results.json', 'utf8'))).toBe(before)
  }, 180_000)
})
