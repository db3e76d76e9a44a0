/** Programs that do not mention an inspector, started with STATEWIRE_INSPECT=1. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { WireView } from '../../src/inspector/protocol.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { runProgram } from '../runScript.ts'
import { inspecting, listen } from './watching.ts'

if (!existsSync('dist/inspector.js')) throw new Error('There is no dist: run `npm run build` first.')

const program = (name: string) => join('test', 'inspector', 'programs', name)

/** Starts a program, and resolves when it has printed the address and sent its requests. */
const started = async (name: string, { wanted = '1', args = [] as string[] } = {}) => {
  const env = { ...process.env, STATEWIRE_INSPECT: wanted }
  const child = spawn(process.execPath, [program(name), ...args], { env, stdio: 'pipe' })
  onTestFinished(() => void child.kill())
  let stderr = ''
  let stdout = ''
  await new Promise<void>((resolve, reject) => {
    // Two pipes: what was printed first may be read last.
    const look = () => {
      if (stdout.includes('asked') && stderr.includes('\n')) resolve()
    }
    child.stderr.on('data', (text) => {
      stderr += text
      look()
    })
    child.stdout.on('data', (text) => {
      stdout += text
      look()
    })
    child.on('exit', () => reject(new Error(`It ended early: ${stdout}${stderr}`)))
  })
  const [url = ''] = /http:\/\/\S+/.exec(stderr) ?? []
  return { child, url, printed: () => stderr, answers: stdout }
}

const wireOf = async (url: string, actor: number): Promise<WireView> =>
  (await (await fetch(`${url}wire?actor=${actor}`)).json()) as WireView

afterEach(() => vi.unstubAllEnvs())

describe('STATEWIRE_INSPECT', { timeout: 120_000 }, () => {
  it('shows every agent of a process, from its first request on, and prints the address once', async () => {
    const { url, printed, answers } = await started('twoAgents.mjs')
    expect(printed()).toBe(`statewire inspector: ${url}\n`)
    expect(answers).toContain('6 times 7')
    const feed = await listen({ url })
    await feed.until(({ actors }) => actors.size > 0)
    const runs = [...feed.actors.values()].filter(({ parent }) => parent === null)
    expect(runs.map(({ title, status }) => [title, status])).toEqual([
      ['How much is 6 times 7?', 'done'],
      ['How much is 2 plus 2?', 'done'],
    ])
    for (const { id } of runs) {
      const { calls } = await wireOf(url, id)
      expect(calls.map(({ exchanges }) => exchanges[0]?.status)).toEqual([200])
    }
  })

  it('does not keep the process alive, not even with a page open', async () => {
    const { child, url } = await started('twoAgents.mjs')
    await listen({ url })
    const ended = once(child, 'exit')
    child.stdin.end()
    expect(await ended).toEqual([0, null])
  })

  it('shows what is required, too', async () => {
    const { url } = await started('required.cjs')
    expect((await wireOf(url, 1)).calls[0]?.exchanges[0]?.status).toBe(200)
  })

  it('lists stored runs that the process opened', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'statewire-environment-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const { url } = await started('storedRun.mjs', { args: [join(folder, 'runs.db')] })
    const feed = await listen({ url })
    await feed.until(({ actors }) => [...actors.values()].some(({ run }) => run === 'job-7'))
  })

  it('takes a port; one that is not free leaves the program as it is', async () => {
    const { port } = new URL((await inspecting()).url)
    const env = { ...process.env, STATEWIRE_INSPECT: port }
    const { printed, code } = await runProgram(process.execPath, [program('twoAgents.mjs')], { env })
    expect(printed).toContain('6 times 7')
    expect(printed).toContain(`statewire: the inspector did not start. The inspector cannot use port ${port}`)
    expect(code).toBe(0)
  })

  it.each(['yes', '-1', '70000', '1.5'])('cannot be %s', (wanted) => {
    vi.stubEnv('STATEWIRE_INSPECT', wanted)
    expect(() => new Agent('openai:m', { apiKey: 'k' })).toThrow(ConfigurationError)
  })

  it.each(['', '0'])('is off where it is %o', async (wanted) => {
    const env = { ...process.env, STATEWIRE_INSPECT: wanted }
    const { printed } = await runProgram(process.execPath, [program('twoAgents.mjs')], { env })
    expect(printed).toContain('asked')
    expect(printed).not.toContain('inspector')
  })
})
