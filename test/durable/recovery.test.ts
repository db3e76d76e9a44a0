/** The process that opens a store continues the runs that were left behind, and says why where it cannot. */
import { describe, expect, test } from 'vitest'
import { assign, fromCallback, setup } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { RunInfo } from '../../src/durable/index.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { readAll } from './reading.ts'
import { afterKill, opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

const changed = (path: string, sql: string): void => {
  const file = open(path)
  file.exec(sql)
  file.close()
}

/** A store in which a run was left in the middle of an answer. */
const left = async (id = 'job'): Promise<string> => {
  const path = storeFile()
  const { agent } = wiping([[callOf('c', 'a')], [{ text: 'Half an ' }, { hang: true }]])
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Wipe a', { id })
  for await (const { chunk } of run.stream()) if (chunk.output !== '') break
  await runs.close()
  return path
}

describe('a run that was left', () => {
  test('continues with its history, and asks again what was not answered', async () => {
    const path = await left()
    const { agent, model, wiped } = wiping(['All done.'])
    const runs = await opened(path, { agent })
    const run = await runs.get('job')
    const result = await run?.result
    expect(result?.output).toBe('All done.')
    expect(result?.messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'wiped a' }])
    expect(wiped).toEqual([])
    model.assertDone()
    const read = run && (await readAll(run))
    expect(read?.texts).toEqual(['\nAll done.'])
    // A reader that comes later gets nothing of the answer that does not count.
    expect(read?.chunks.map(({ output }) => output).join('')).toBe('\nAll done.')
    expect(read?.chunks.filter(({ metadata }) => metadata.restart)).toHaveLength(0)
  })

  test('is counted until it gets further', async () => {
    let path = await left()
    for (const incarnation of [1, 2]) {
      const runs = await opened(path, { agent: wiping([[{ hang: true }]]).agent })
      expect(await runs.list()).toMatchObject([{ status: 'running', recoveries: incarnation }])
      path = afterKill(path)
    }
    const runs = await opened(path, { agent: wiping([[callOf('d', 'a2')], [{ hang: true }]]).agent })
    const run = await runs.get('job')
    for await (const { chunk } of run?.stream() ?? []) {
      const results = chunk.messages.flatMap(toolResultsOf)
      if (results.some(({ id }) => id === 'd')) break
    }
    expect(await run?.info()).toMatchObject({ status: 'running', recoveries: 0 })
  })

  test('is not counted when its process was stopped in good order, however often', async () => {
    const path = await left()
    for (let stop = 0; stop < 60; stop += 1)
      await (await opened(path, { agent: wiping([[{ hang: true }]]).agent }, { maxRecoveries: 1 })).close()
    const runs = await opened(path, { agent: wiping(['Done.']).agent }, { maxRecoveries: 1 })
    expect((await (await runs.get('job'))?.result)?.output).toBe('Done.')
  })

  test('makes no progress by what it does in every incarnation', async () => {
    let path = storeFile()
    const agent = new Agent(scriptedModel([]), {
      orchestrator: {
        providerHint: 'restless',
        create: () =>
          setup({
            types: { context: {} as { incarnations: number } },
            actors: { begin: fromCallback(({ sendBack }) => sendBack({ type: 'begun' })) },
          }).createMachine({
            id: 'restless',
            context: { incarnations: 0 },
            invoke: { id: 'begin', src: 'begin' },
            on: { begun: { actions: assign({ incarnations: ({ context }) => context.incarnations + 1 }) } },
          }),
      },
    })
    const first = await opened(path, { agent }, { maxRecoveries: 2 })
    await first.start('agent', 'Hi', { id: 'job' })
    path = afterKill(path)
    for (const recoveries of [1, 2]) {
      const runs = await opened(path, { agent }, { maxRecoveries: 2 })
      expect(await runs.list()).toMatchObject([{ status: 'running', recoveries }])
      path = afterKill(path)
    }
    expect(await (await opened(path, { agent }, { maxRecoveries: 2 })).list()).toMatchObject([
      { status: 'abandoned' },
    ])
  })

  test('is abandoned when it made no progress too often; a fork tries once more', async () => {
    let path = await left()
    for (let incarnation = 0; incarnation < 2; incarnation += 1) {
      await opened(path, { agent: wiping([[{ hang: true }]]).agent }, { maxRecoveries: 2 })
      path = afterKill(path)
    }
    const { agent } = wiping(['Done.'])
    const runs = await opened(path, { agent }, { maxRecoveries: 2 })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow(/was abandoned: it was started again 2 times/)
    expect(await run?.info()).toMatchObject({ status: 'abandoned', error: { name: 'OrchestrationError' } })
    expect(run && (await readAll(run)).chunks.at(-1)?.finishReason).toBe('error')
    const fork = await runs.fork('job')
    expect((await fork.result).output).toBe('Done.')
  })

  test('is abandoned immediately where nothing may be started again; a run that has not begun may begin', async () => {
    const path = await left()
    const { agent } = wiping(['Forked.', 'Begun.'])
    const owner = await opened(path, { agent }, { maxRecoveries: 0 })
    const other = await opened(path, { agent }, { maxRecoveries: 0 })
    await expect((await owner.get('job'))?.result).rejects.toThrow(/it was started again 0 times/)
    expect((await (await owner.fork('job')).result).output).toBe('Forked.')
    expect((await (await other.start('agent', 'Hi')).result).output).toBe('Begun.')
  })

  test('is counted by its incarnations', async () => {
    const path = await left()
    const counts = () => {
      const file = open(path)
      const [row] = file.prepare('SELECT life, recoveries, live FROM runs').all()
      file.close()
      return row
    }
    expect(counts()).toEqual({ life: 1, recoveries: 0, live: 1 })
    const killed = await opened(path, { agent: wiping([[{ hang: true }]]).agent })
    expect(counts()).toEqual({ life: 2, recoveries: 1, live: 1 })
    await killed.close()
    expect(counts()).toEqual({ life: 2, recoveries: 0, live: 1 })
    const runs = await opened(path, { agent: wiping([[callOf('d', 'b')]]).agent })
    await (await runs.get('job'))?.result
    expect(counts()).toEqual({ life: 3, recoveries: 0, live: 0 })
    // A decision begins another incarnation, and is not a recovery.
    await runs.send('job', { type: 'steer', text: 'Be quick.' })
    expect(counts()).toEqual({ life: 4, recoveries: 0, live: 0 })
  })

  test('whose orchestrator has changed is left alone, says why, and continues with the old one', async () => {
    const path = await left()
    const { agent } = wiping([], { orchestrator: reflectionOrchestrator() })
    const runs = await opened(path, { agent })
    const run = await runs.get('job')
    const reason = /not a snapshot that the machine "reflection" can continue from/
    await expect(run?.result).rejects.toThrow(reason)
    expect(await run?.info()).toMatchObject({ status: 'running', blocked: expect.stringMatching(reason) })
    expect(await (await opened(path, {})).list()).toMatchObject([{ blocked: expect.stringMatching(reason) }])
    // What is acknowledged now counts later.
    await runs.send('job', { type: 'steer', text: 'Be brief.' })
    await runs.close()
    const { agent: old, model } = wiping(['Done.', 'Brief.'])
    const again = await opened(path, { agent: old })
    expect((await (await again.get('job'))?.result)?.answer).toMatch(/Done|Brief/)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Be brief.')
    expect(await (await again.get('job'))?.info()).not.toHaveProperty('blocked')
  })

  test('which its agent refuses can be aborted', async () => {
    const path = await left()
    const { agent } = wiping([], { orchestrator: reflectionOrchestrator() })
    const runs = await opened(path, { agent })
    await runs.send('job', { type: 'abort' })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow(/"reflection"/)
    expect(await run?.info()).toMatchObject({ status: 'abandoned' })
  })

  test('of a newer release is left alone, and continues when that release is back', async () => {
    const path = await left()
    changed(path, `UPDATE runs SET head = replace(head, '"version":"4.', '"version":"4.9')`)
    const runs = await opened(path, { agent: wiping([]).agent })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow(/a newer release wrote it/)
    expect(await run?.info()).toMatchObject({ status: 'running', blocked: expect.stringMatching(/newer/) })
    await runs.close()
    changed(path, `UPDATE runs SET head = replace(head, '"version":"4.9', '"version":"4.')`)
    const again = await opened(path, { agent: wiping(['Done.']).agent })
    expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
  })

  test('whose agent is not there is left alone, and says so', async () => {
    const path = await left()
    const runs = await opened(path, { other: wiping([]).agent })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow('There is no agent "agent". There are: other.')
    await expect(runs.send('job', { type: 'abort' })).rejects.toThrow(/There is no agent "agent"/)
    expect(await run?.info()).toMatchObject({ status: 'running', recoveries: 0 })
    await runs.close()
    const again = await opened(path, { agent: wiping(['Done.']).agent })
    expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
  })

  test('whose context cannot be made is left alone, and says so', async () => {
    const path = await left()
    const { agent } = wiping(['Done.'])
    const context = () => {
      throw new Error('no connection')
    }
    const runs = await opened(path, { agent }, { context })
    await expect((await runs.get('job'))?.result).rejects.toThrow('no connection')
    await runs.close()
    const again = await opened(path, { agent })
    expect((await (await again.get('job'))?.result)?.output).toBe('Done.')
  })
})

describe('many runs', () => {
  const count = 60
  /** A driver whose commits take time, and how many there were in each turn of the process. */
  const slowDriver = (): { driver: OpenDriver; turns: number[] } => {
    const turns: number[] = [0]
    let isCounted = false
    const commit = () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      turns.push((turns.pop() ?? 0) + 1)
      if (isCounted) return
      isCounted = true
      setImmediate(() => {
        isCounted = false
        turns.push(0)
      })
    }
    const driver: OpenDriver = (at) => {
      const connection = open(at)
      return {
        prepare: (sql) => connection.prepare(sql),
        close: () => connection.close(),
        exec: (sql) => {
          if (sql === 'COMMIT') commit()
          connection.exec(sql)
        },
      }
    }
    return { driver, turns }
  }

  test('are started and written to bit by bit, in their order, also where all of that is asked for at once', async () => {
    const { driver, turns } = slowDriver()
    const { agent } = wiping(Array.from({ length: count }, () => [{ hang: true }]))
    const runs = await opened(storeFile(), { agent }, { driver })
    const ids = Array.from({ length: count }, (_, n) => `job ${n}`)
    turns.splice(0, turns.length, 0)
    await Promise.all(ids.map((id) => runs.start('agent', 'Hi', { id })))
    for (const id of ids) await runs.send(id, { type: 'message', text: 'And?', when: 'step' })
    // Without turns for other work it would be all of them.
    expect(Math.max(...turns)).toBeLessThan(count)
    expect(turns.reduce((sum, commits) => sum + commits)).toBeGreaterThan(2 * count)
    expect((await runs.list({ limit: count })).map(({ id }) => id)).toEqual(ids.reverse())
  })

  test('are continued and stopped bit by bit: other work of the process goes on in between', async () => {
    const path = storeFile()
    const hanging = () => wiping(Array.from({ length: count }, () => [{ hang: true }]))
    const first = await opened(path, { agent: hanging().agent }, { synchronous: 'normal' })
    for (let n = 0; n < count; n += 1) await first.start('agent', 'Hi', { id: `job ${n}` })
    await first.close({ drain: 0 })
    const { driver, turns } = slowDriver()
    const { agent, model } = hanging()
    const runs = await opened(path, { agent }, { driver })
    await expect.poll(() => model.requests.length).toBe(count)
    const begun = turns.splice(0).filter((commits) => commits > 0)
    await runs.close({ drain: 1000 })
    const ended = turns.filter((commits) => commits > 0)
    // Ten of them take 50 ms.
    for (const each of [begun, ended]) expect(Math.max(...each)).toBeLessThan(20)
    expect(
      (await (await opened(path, {})).list({ limit: count })).map(({ recoveries }) => recoveries),
    ).toEqual(Array.from({ length: count }, () => 0))
  })
})

describe('runs of a process that dies again and again', () => {
  test('continue one by one, so that the one that ends the process is found and the others are not abandoned', async () => {
    let path = storeFile()
    const hanging = () => wiping(Array.from({ length: 9 }, () => [{ hang: true }]))
    const first = await opened(path, { agent: hanging().agent }, { maxRecoveries: 10 })
    for (let n = 1; n <= 5; n += 1) await first.start('agent', 'Hi', { id: `job ${n}` })
    for (let death = 0; death < 25; death += 1) {
      path = afterKill(path)
      const { agent, model } = hanging()
      await opened(path, { agent }, { maxRecoveries: 10 })
      await expect.poll(() => model.requests.length).toBe(death < 5 ? 5 : 1)
    }
    path = afterKill(path)
    const { agent } = wiping(Array.from({ length: 5 }, () => 'Done.'))
    const runs = await opened(path, { agent }, { maxRecoveries: 10 })
    for (let n = 1; n <= 5; n += 1) expect((await (await runs.get(`job ${n}`))?.result)?.output).toBe('Done.')
  })
})

describe('a run whose process died before it could show its status', () => {
  /** Makes a file as it was left: the last chunks are not stored, and no reader got them. */
  const undelivered = (path: string, lastBatches: number): void =>
    changed(
      path,
      `UPDATE runs SET live = 1;
       DELETE FROM stream WHERE seq IN (SELECT seq FROM stream ORDER BY seq DESC LIMIT ${lastBatches})`,
    )

  test.each([
    ['waits', [[{ text: 'May I?' }, callOf('c', 'b')]], 'waiting'],
    ['is complete', [[{ text: 'Done.' }, { usage: { outputTokens: 4 } }]], 'complete'],
    ['failed', [[{ text: 'Well' }, { error: { message: 'No.' } }]], 'failed'],
  ] as const)('and which %s shows its readers the rest', async (_, turns, status) => {
    const path = storeFile()
    const first = await opened(path, { agent: wiping(turns).agent })
    const run = await first.start('agent', 'Go', { id: 'job' })
    const outcome = await run.result.catch((thrown) => thrown.message)
    const before = await readAll(run)
    const info = await run.info()
    await first.close()
    undelivered(path, 1)
    const second = await opened(path, { agent: wiping([]).agent })
    const later = await second.get('job')
    const after = later && (await readAll(later))
    expect(after?.messages).toEqual(before.messages)
    expect(after?.chunks.at(-1)).toEqual(before.chunks.at(-1))
    expect(after?.cursors.at(-1)).toMatch(/^2\./)
    expect(after?.chunks.filter(({ finishReason }) => finishReason !== 'unspecified')).toHaveLength(1)
    expect(await later?.info()).toEqual(info)
    expect(info.status).toBe(status)
    expect(await later?.result.catch((thrown) => thrown.message)).toEqual(outcome)
    // Once is enough.
    await second.close()
    const third = await (await opened(path, { agent: wiping([]).agent })).get('job')
    expect(third && (await readAll(third)).cursors).toEqual(after?.cursors)
  })
})

test('what already runs, or was stopped, is not started again because of another run', async () => {
  const path = await left('broken')
  const begun: string[] = []
  const context = (stored: unknown, { id }: RunInfo) => {
    begun.push(id)
    if (id === 'broken') throw new Error('no connection')
    return stored
  }
  const { agent, model } = wiping([[{ hang: true }], 'Done.'])
  const runs = await opened(path, { agent }, { context })
  await runs.start('agent', 'Hi', { id: 'first' })
  // A fork is begun together with all that must continue.
  expect((await (await runs.fork('first', { id: 'second' })).result).output).toBe('Done.')
  expect(begun).toEqual(['broken', 'first', 'second'])
  model.assertDone()
})

describe('a context that cannot be made', () => {
  test('stops one run with what was thrown, and a command tries again', async () => {
    const path = await left()
    let isThere = false
    const { agent } = wiping(['Other.', 'Done.', 'Gone on.'])
    const context = (stored: unknown, { id }: { id: string }) => {
      if (!isThere && id === 'job') throw 'no connection'
      return stored
    }
    const runs = await opened(path, { agent }, { context })
    const run = await runs.get('job')
    const error = await run?.result.catch((thrown) => thrown)
    expect(error).toEqual(new Error('no connection'))
    expect(run && (await readAll(run).catch((thrown) => thrown))).toBe(error)
    expect((await (await runs.start('agent', 'Hi')).result).output).toBe('Other.')
    isThere = true
    await runs.send('job', { type: 'steer', text: 'Go on.' })
    expect((await run?.result)?.output).toBe('Done.\nGone on.')
  })

  test('is made of what was stored and what is known of the run, each time it begins an incarnation', async () => {
    const path = storeFile()
    const seen: unknown[] = []
    const context = (stored: unknown, info: RunInfo) => {
      seen.push([stored, info])
      return stored
    }
    const first = await opened(path, { agent: wiping([[callOf('c', 'b')]]).agent }, { context })
    const run = await first.start('agent', 'Wipe b', { id: 'job', context: [4] })
    await run.result
    const waiting = await run.info()
    await first.send('job', { type: 'steer', text: 'Hm.' })
    const known = { id: 'job', agent: 'agent', status: 'running', state: '', prompt: 'Wipe b', step: 0 }
    const at = { createdAt: expect.any(Date), updatedAt: expect.any(Date), recoveries: 0 }
    expect(seen).toEqual([
      [[4], { ...known, pending: [], ...at }],
      [[4], waiting],
    ])
  })
})

describe('commands that a store has when it is opened', () => {
  test('are taken, forgotten, or left to the process that knows the agent', async () => {
    const path = storeFile()
    const turns = [[callOf('c', 'b')], 'Over.', [callOf('c', 'b')]]
    const first = await opened(path, {
      agent: wiping(turns).agent,
      other: wiping([[callOf('c', 'b')]]).agent,
    })
    for (const [agent, id] of [
      ['agent', 'waits'],
      ['agent', 'over'],
      ['agent', 'too'],
      ['other', 'other'],
    ] as const)
      await (await first.start(agent, 'Wipe b', { id })).result
    await first.close()
    const say = (run: number, command: object) =>
      changed(path, `INSERT INTO commands (run, data) VALUES (${run}, '${JSON.stringify(command)}')`)
    say(99, { type: 'abort' })
    say(1, { type: 'tool.approve', callId: 'x' })
    say(1, { type: 'tool.approve', callId: 'c' })
    say(2, { type: 'steer', text: 'Too late.' })
    say(3, { type: 'tool.reject', callId: 'c' })
    say(4, { type: 'tool.reject', callId: 'c' })
    const { agent, wiped } = wiping(['Done.', 'Done.'])
    const second = await opened(path, { agent })
    for (const [id, output] of [
      ['waits', 'Done.'],
      ['over', 'Over.'],
      ['too', 'Done.'],
    ] as const)
      expect((await (await second.get(id))?.result)?.output).toBe(output)
    expect(wiped).toEqual(['b'])
    const file = open(path)
    expect(file.prepare('SELECT run FROM commands').all()).toEqual([{ run: 4 }])
    file.close()
    expect(await (await second.get('other'))?.info()).toMatchObject({ status: 'waiting' })
  })
})
