/** Habits that the reference servers do not have: odd names, lists that change, calls that die, beat or sleep. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { McpConnection, McpConnectOptions } from '../../src/mcp/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { connected, ownServer } from './servers.ts'

const odd = async (options: Partial<McpConnectOptions> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-mcp-'))
  const log = join(folder, 'log')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const remote = await connected({ ...ownServer('oddServer.mjs', log), ...options })
  const done = () => {
    try {
      return readFileSync(log, 'utf8').trim().split('\n')
    } catch {
      return []
    }
  }
  return { remote, done, enough: () => writeFileSync(`${log}.enough`, '') }
}

const call = (name: string, args = {}): ScriptTurn => [{ toolCall: { name, arguments: args } }]

const runOf = async (remote: McpConnection, ...names: string[]) => {
  const model = scriptedModel([...names.map((name) => call(name)), 'done'])
  const { messages } = await new Agent(model, { tools: [remote] }).send('go')
  const offered = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))
  return { offered, results: messages.flatMap(toolResultsOf) }
}

test('names are what every provider takes, each its own, and each reaches its own tool', async () => {
  const { remote } = await odd({ prefix: 'odd-' })
  const names = remote.tools.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^odd-[A-Za-z0-9_-]{1,60}$/)
  const alike = names.filter((name) => /^odd-(a_b|x_y)/.test(name))
  expect(alike).toHaveLength(3)
  const { results } = await runOf(remote, ...alike)
  expect(results.map(({ result }) => result)).toEqual([
    'I am a.b',
    'I am a/b',
    expect.stringMatching(/^I am x\.y{100}$/),
  ])
})

test('tools that a call adds are offered at the next step, and removed ones are not', async () => {
  const { remote } = await odd()
  const { offered, results } = await runOf(remote, 'grow', 'grown', 'shrink', 'going')
  expect(offered[0]).not.toContain('grown')
  expect(offered[1]).toEqual(expect.arrayContaining(['grown', 'grown_more', 'going']))
  expect(offered[3]).not.toContain('going')
  expect(results[1]?.result).toBe('I am grown')
  expect(results[3]).toMatchObject({ isError: true, result: expect.stringContaining('no tool named') })
})

test('tools that did not change stay the same objects', async () => {
  const { remote } = await odd()
  const before = new Map(remote.tools.map((each) => [each.name, each]))
  await runOf(remote, 'grow')
  expect(remote.tools.length).toBe(before.size + 2)
  for (const each of remote.tools) if (before.has(each.name)) expect(each).toBe(before.get(each.name))
})

test('a tool of a server never replaces one of the agent', async () => {
  const { remote } = await odd()
  const own = tool({ name: 'grown', description: 'mine', execute: () => 'mine' })
  const model = scriptedModel([call('grow'), call('grown'), 'done'])
  const { messages } = await new Agent(model, { tools: [remote, own] }).send('go')
  expect(messages.flatMap(toolResultsOf)[1]?.result).toBe('mine')
  // At the beginning it is a mistake that can be seen.
  const clash = tool({ name: 'grow', description: 'mine', execute: () => 'mine' })
  expect(() => new Agent(model, { tools: [remote, clash] }).machine).toThrow(ConfigurationError)
})

test('a call that may have run is not repeated, though the server is there again', async () => {
  const { remote, done } = await odd()
  const { results } = await runOf(remote, 'act_and_die', 'going')
  expect(done()).toEqual(['died'])
  expect(results).toMatchObject([
    { isError: true, result: expect.stringContaining('took effect is unknown') },
    { result: 'still here' },
  ])
})

/** A call that beats, on a clock that moves with each beat and never by itself. */
const beating = async (limits: Partial<McpConnectOptions>, msPerBeat: number) => {
  const { remote, enough } = await odd(limits)
  const clock = new SimulatedClock()
  const run = new Agent(scriptedModel([call('beat'), 'done']), { tools: [remote], clock }).start('go')
  const reported: unknown[] = []
  run.on('tool.progress', ({ value }) => {
    reported.push(value)
    clock.increment(msPerBeat)
    if (reported.length === 6) enough()
  })
  const { messages } = await run.result
  return { reported, results: messages.flatMap(toolResultsOf) }
}

test('progress renews the time of a call, and is reported', async () => {
  const { reported, results } = await beating({ timeoutMs: 700 }, 600)
  expect(results).toMatchObject([{ result: 'beaten' }])
  expect(reported[1]).toEqual({ progress: 2, message: 'beat 2' })
})

test('a silent call ends, and the server gets the cancellation', async () => {
  const { remote, done } = await odd({ timeoutMs: 200 })
  const { results } = await runOf(remote, 'sleep', 'grow')
  expect(results[0]).toMatchObject({ isError: true, result: expect.stringContaining('for 200 ms') })
  expect(done()).toEqual(['cancelled'])
})

test('progress does not renew it for ever', async () => {
  const { results } = await beating({ timeoutMs: 450, maxTimeoutMs: 1000 }, 400)
  expect(results[0]).toMatchObject({ isError: true, result: expect.stringContaining('within 1000 ms') })
})

test('asks before a tool runs that is not marked as read-only', async () => {
  const { remote, done } = await odd()
  const model = scriptedModel([call('act', { what: 'harm' }), 'done'])
  const { pendingApproval } = await new Agent(model, { tools: [remote] }).send('go')
  expect(pendingApproval?.calls).toMatchObject([{ name: 'act', kind: 'approval' }])
  expect(done()).toEqual([])
})

test('asks as needsApproval says, which gets the description of the tool and the arguments', async () => {
  const { remote, done } = await odd({
    needsApproval: ({ name }, args) => name === 'act' && args.what === 'harm',
  })
  const model = scriptedModel([call('act', { what: 'good' }), call('act', { what: 'harm' }), 'done'])
  const { pendingApproval } = await new Agent(model, { tools: [remote] }).send('go')
  expect(pendingApproval?.calls).toMatchObject([{ arguments: { what: 'harm' } }])
  expect(done()).toEqual(['good'])
})

test('offers only what is included, and says what is not there', async () => {
  const { remote } = await odd({ include: ['act', 'a.b'] })
  expect(remote.tools.map(({ name }) => name)).toEqual(['act', 'a_b'])
  await expect(odd({ include: ['nothing'] })).rejects.toThrow('does not offer nothing')
})
