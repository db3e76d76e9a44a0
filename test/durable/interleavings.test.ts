/**
 * Two processes send commands at every write of a run: of two decisions on a call one is refused, whatever was
 * acknowledged has its effect, and no tool runs that was not approved.
 */
import { copyFileSync, existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import type { StoredRuns } from '../../src/durable/index.ts'
import { dice } from '../proof/dice.ts'
import { copying } from './copying.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

/** Turns: a call that needs an approval, one of an external tool, and the end; more for forks and steers. */
const turns = [[callOf('c', 'b')], [{ toolCall: { id: 'x', name: 'ask' } }], 'Done.', 'Steered.', 'Steered.']

type Act = 'approve' | 'reject' | 'answer' | 'abort' | 'steer' | 'start' | 'fork' | 'prune'
const acts: readonly Act[] = ['approve', 'reject', 'answer', 'abort', 'steer', 'start', 'fork', 'prune']

const commands: Partial<Record<Act, AgentCommand>> = {
  approve: { type: 'tool.approve', callId: 'c' },
  reject: { type: 'tool.reject', callId: 'c', reason: 'no' },
  answer: { type: 'tool.answer', callId: 'x', result: 'yes' },
  abort: { type: 'abort' },
  steer: { type: 'steer', text: 'Hurry!' },
}

const play = async (runs: StoredRuns, act: Act): Promise<boolean> => {
  const command = commands[act]
  try {
    if (command) await runs.send('job', command)
    else if (act === 'start') await runs.start('agent', 'Wipe b', { id: 'job' })
    else if (act === 'fork') await runs.fork('job', { atStep: 1 })
    else await runs.prune({ olderThan: new Date(0) })
    return true
  } catch {
    return false
  }
}

/** Decides on what is still open, until the run is over. */
const finish = async (runs: StoredRuns): Promise<{ status: string; said: string }> => {
  const run = await runs.get('job')
  for (let round = 0; run && round < 9; round += 1) {
    const result = await run.result.catch((thrown) => ({ pendingApproval: undefined, ...thrown.partial }))
    for (const { id, kind } of result.pendingApproval?.calls ?? [])
      await runs
        .send(
          'job',
          kind === 'answer'
            ? { type: 'tool.answer', callId: id, result: 'yes' }
            : { type: 'tool.reject', callId: id },
        )
        .catch(() => {})
    const { status } = await run.info()
    if (status === 'running' || status === 'waiting') continue
    const { messages } = await run.result.catch((thrown) => thrown.partial)
    return { status, said: JSON.stringify(messages) }
  }
  throw new Error('The run does not end.')
}

/** The stores after each write of a run. */
const writes = async (): Promise<string[]> => {
  const path = storeFile()
  const copies: string[] = []
  const driver = await copying(path, (copy) => copies.push(copy))
  const runs = await opened(path, { agent: wiping(turns).agent }, { driver })
  const run = await runs.start('agent', 'Wipe b', { id: 'job' })
  await run.result
  await runs.send('job', { type: 'tool.approve', callId: 'c' })
  await run.result
  await runs.send('job', { type: 'tool.answer', callId: 'x', result: 'yes' })
  await run.result
  await runs.close()
  // The first ones make the tables, and the owner.
  return copies.slice(3)
}

const share = Number(process.env.INTERLEAVINGS ?? 0.05)

test('whatever was acknowledged first wins, and nothing acknowledged is dropped', async () => {
  const { chance } = dice(7)
  let played = 0
  for (const path of await writes())
    for (const first of acts)
      for (const second of acts) {
        if (!chance(share)) continue
        played += 1
        const copy = `${path}-${first}-${second}`
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
        // What ran before is not known here: a call that had run is not among those that run now.
        const before = await opened(copy, {})
        const [info] = await before.list()
        const { unreadCommands } = await before.health()
        const hadRun = (info?.step ?? 0) > 1 || info?.state === 'ToolExecution' || unreadCommands > 0
        const wasOver = info !== undefined && info.status !== 'running' && info.status !== 'waiting'
        const { agent, wiped } = wiping(
          turns.slice(info ? info.step - (info.state === 'Accumulating' ? 1 : 0) : 0),
        )
        const owner = await opened(copy, { agent })
        const isTaken = await Promise.all([play(before, first), play(owner, second)])
        const taken = acts.filter((act) => (first === act && isTaken[0]) || (second === act && isTaken[1]))
        const name = `${path.split('/').at(-2)} ${first} ${second} ${isTaken}`
        const isDouble = first === second && ['approve', 'reject', 'answer'].includes(first)
        if (isDouble) expect([name, isTaken.filter(Boolean).length]).not.toEqual([name, 2])
        if (!info && !taken.includes('start')) continue
        const { status, said } = await finish(owner)
        expect([name, taken.includes('approve') && taken.includes('reject')]).toEqual([name, false])
        if (taken.includes('abort') && !wasOver) expect([name, status]).toEqual([name, 'aborted'])
        if (taken.includes('reject')) expect([name, wiped]).toEqual([name, []])
        if (taken.includes('approve') && !taken.includes('abort'))
          expect([name, wiped]).toEqual([name, ['b']])
        if (!taken.includes('approve') && !hadRun) expect([name, wiped]).toEqual([name, []])
        if (taken.includes('steer') && status === 'complete')
          expect([name, said.match(/Hurry!/g)?.length]).toEqual([
            name,
            first === second && isTaken.every(Boolean) ? 2 : 1,
          ])
        await Promise.all([before.close(), owner.close()])
      }
  expect(played).toBeGreaterThan(20)
}, 600_000)
