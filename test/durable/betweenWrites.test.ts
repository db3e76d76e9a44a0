/**
 * Another process sends two commands right before any two writes of the one that runs the agents: what was acknowledged has
 * its effect, once, and of two decisions on a call the later one is refused.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Agents } from '../../src/durable/runOptions.ts'
import { endStatuses } from '../../src/durable/runs.ts'
import { deleteRun, pruneRuns } from '../../src/durable/sqlite/deleteRuns.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import { RunOwner } from '../../src/durable/sqlite/RunOwner.ts'
import { openStore, sqlite } from '../../src/durable/sqlite/sqlite.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { dice } from '../proof/dice.ts'
import { opened, storeFile } from './storeFile.ts'

const open = await findDriver()

/** An agent that asks for an approval, then asks a person, then answers. What it says follows from the results so far. */
const careful = (wiped: string[]): Agent => {
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes a file.',
    input: z.object({ file: z.string() }),
    needsApproval: true,
    execute: async ({ file }, { context }) => {
      wiped.push(`${file} ${String(context)}`)
      return `wiped ${file}`
    },
  })
  const ask = tool({ name: 'ask', description: 'Asks a person.' })
  const calls = [
    [{ toolCall: { id: 'c', name: 'wipe', arguments: { file: 'b' } } }],
    [{ text: 'Well.' }, { toolCall: { id: 'x', name: 'ask' } }],
  ]
  const model: ChatModel = {
    ...scriptedModel([]),
    stream: (request, sink) => {
      const results = request.messages.flatMap(toolResultsOf).length
      return scriptedModel([calls[results] ?? 'Done.']).stream(request, sink)
    },
  }
  return new Agent(model, { tools: [wipe, ask] })
}

const acts = ['approve', 'reject', 'answer', 'abort', 'steer', 'delete', 'prune', 'fork'] as const
type Act = (typeof acts)[number]

const commands: Partial<Record<Act, AgentCommand>> = {
  approve: { type: 'tool.approve', callId: 'c' },
  reject: { type: 'tool.reject', callId: 'c', reason: 'no' },
  answer: { type: 'tool.answer', callId: 'x', result: 'yes' },
  abort: { type: 'abort' },
  steer: { type: 'steer', text: 'Hurry!' },
}

type Neighbour = { play(act: Act): boolean; close(): Promise<unknown> }

/** A process beside the owner, which acts in the middle of what the owner does: nothing of it is asynchronous. */
const neighbour = async (path: string): Promise<Neighbour> => {
  const store = await openStore(sqlite(path))
  const options = { agents: new Agents({}), maxRecoveries: 50, concurrency: 1, context: () => undefined }
  const owner = new RunOwner(store, options)
  const forks = await opened(path, {})
  const late: Promise<unknown>[] = []
  return {
    close: async () => {
      await Promise.allSettled(late)
      await Promise.all([forks.close(), owner.close(0)])
    },
    play: (act) => {
      const command = commands[act]
      try {
        if (command) owner.send('job', command, undefined)
        else if (act === 'delete') return deleteRun(owner, 'job')
        else if (act === 'prune') late.push(pruneRuns(owner, Date.now() + 60_000, endStatuses, false))
        else late.push(forks.fork('job', { id: 'fork' }).catch(() => {}))
        return true
      } catch {
        return false
      }
    },
  }
}

/** A driver that says which write of the owner comes next. */
const announcing =
  (path: string, onWrite: (nth: number) => void): OpenDriver =>
  (at) => {
    const connection = open(at)
    if (at !== path) return connection
    let writes = 0
    return {
      prepare: (sql) => connection.prepare(sql),
      close: () => connection.close(),
      exec: (sql) => {
        if (sql === 'BEGIN IMMEDIATE') {
          writes += 1
          onWrite(writes)
        }
        connection.exec(sql)
      },
    }
  }

type Played = { writes: number; faults: string[] }

/** Plays a run, with acts of the neighbour before some of its writes, and says what is wrong with it. */
const played = async (plan: readonly { before: number; act: Act }[]): Promise<Played> => {
  const path = storeFile()
  const wiped: string[] = []
  const taken: Act[] = []
  /** The acts of the neighbour alone: their order is the one in which they were stored. */
  const others: Act[] = []
  let writes = 0
  let onWrite = (_: number) => {}
  const runs = await opened(
    path,
    { agent: careful(wiped) },
    { driver: announcing(path, (nth) => onWrite(nth)) },
  )
  const other = await neighbour(path)
  let from: number | undefined
  onWrite = (nth) => {
    from ??= nth
    writes = nth - from
    for (const { before, act } of plan) if (before === writes && other.play(act)) others.push(act)
  }
  const attempt = async (act: Act, act2: () => Promise<unknown>): Promise<void> => {
    try {
      await act2()
      taken.push(act)
    } catch {
      // The neighbour was first.
    }
  }
  const run = await runs.start('agent', 'Wipe b', { id: 'job', context: 'job' }).catch((thrown) => {
    // It was deleted before it could be handed out.
    if (!others.includes('delete')) throw thrown
  })
  if (!run) {
    await other.close()
    return { writes, faults: wiped }
  }
  /** Says what is wrong with a wait that does not end, or undefined. */
  const rest = () =>
    run.result.then(
      ({ status }) => status,
      (thrown) => (/deleted/.test(String(thrown)) ? 'deleted' : 'over'),
    )
  for (let round = 0; round < 4 && (await rest()) === 'waiting'; round += 1) {
    const [call] = (await run.info()).pending
    if (call?.id === 'c')
      await attempt('approve', () => runs.send('job', { type: 'tool.approve', callId: 'c' }))
    if (call?.id === 'x')
      await attempt('answer', () => runs.send('job', { type: 'tool.answer', callId: 'x', result: 'yes' }))
  }
  onWrite = () => {}
  taken.push(...others)
  const faults: string[] = []
  const times = (act: Act) => taken.filter((each) => each === act).length
  const isGone = (await runs.get('job')) === undefined
  const info = isGone ? undefined : await run.info()
  const messages = await run.result.then(
    (result) => result.messages,
    (thrown) => thrown.partial?.messages ?? [],
  )
  const said = JSON.stringify(messages)
  const own = wiped.filter((each) => each === 'b job').length
  if (own !== wiped.length) faults.push(`wiped ${wiped}`)
  if (times('approve') + times('reject') > 1) faults.push('two decisions on one call')
  if (times('answer') > 1) faults.push('two answers to one call')
  if (own > times('approve')) faults.push('wiped without an approval')
  const isCut = times('abort') > 0 || isGone
  if (!isCut && own !== times('approve')) faults.push('the approval was dropped')
  if (!isCut && info?.status !== 'complete') faults.push(`the run is ${info?.status}`)
  if (!isGone && times('abort') > 0 && info?.status !== 'aborted') faults.push('the abort was dropped')
  if (info?.status === 'complete' && (said.match(/Hurry!/g)?.length ?? 0) !== times('steer'))
    faults.push('the steering was dropped, or counted twice')
  if (isGone && times('delete') + times('prune') === 0) faults.push('the run is gone')
  if (!isGone && times('delete') > 0) faults.push('the run is back')
  const late = others.slice(others.indexOf('abort') + 1).filter((act) => act !== 'abort' && commands[act])
  if (others.includes('abort') && late.length > 0) faults.push('a command was taken after the abort')
  await expect.poll(async () => (await runs.health()).unreadCommands).toBe(0)
  await other.close()
  await runs.close({ drain: 0 })
  return { writes, faults: faults.map((fault) => `${JSON.stringify(plan)} ${taken}: ${fault}`) }
}

const share = Number(process.env.INTERLEAVINGS ?? 0.03)

test('any two commands before any two writes of a run count as they were acknowledged', async () => {
  const { chance } = dice(11)
  const { writes, faults } = await played([])
  expect(faults).toEqual([])
  expect(writes).toBeGreaterThan(8)
  let count = 0
  for (let before = 1; before <= writes; before += 1)
    for (const later of [0, 1, 2])
      for (const first of acts)
        for (const second of acts) {
          if (!chance(share)) continue
          count += 1
          const plan = [
            { before, act: first },
            { before: before + later, act: second },
          ]
          faults.push(...(await played(plan)).faults)
        }
  console.log(`${count} interleavings at ${writes} writes`)
  expect(faults).toEqual([])
}, 3_600_000)
