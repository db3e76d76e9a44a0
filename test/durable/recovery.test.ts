/** Whoever opens a store goes on with what was left behind, as far as it can, and says why where it cannot. */
import { describe, expect, test } from 'vitest'
import { assign, fromCallback, setup } from 'xstate'
import { reflectionOrchestrator } from '../../machines/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
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
  test('goes on with its history, and asks again what was not answered', async () => {
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
    expect(read?.chunks.filter(({ metadata }) => metadata.restart)).toHaveLength(1)
  })

  test('is counted until it gets further', async () => {
    const path = await left()
    for (const life of [1, 2]) {
      const runs = await opened(path, { agent: wiping([[{ hang: true }]]).agent })
      expect(await runs.list()).toMatchObject([{ status: 'running', recoveries: life }])
      await runs.close()
    }
    const runs = await opened(path, { agent: wiping([[callOf('d', 'a2')], [{ hang: true }]]).agent })
    const run = await runs.get('job')
    for await (const { chunk } of run?.stream() ?? []) {
      const results = chunk.messages.flatMap(toolResultsOf)
      if (results.some(({ id }) => id === 'd')) break
    }
    expect(await run?.info()).toMatchObject({ status: 'running', recoveries: 0 })
  })

  test('gets no further by what it does in every life', async () => {
    const path = storeFile()
    const agent = new Agent(scriptedModel([]), {
      orchestrator: {
        providerHint: 'restless',
        create: () =>
          setup({
            types: { context: {} as { lives: number } },
            actors: { begin: fromCallback(({ sendBack }) => sendBack({ type: 'begun' })) },
          }).createMachine({
            id: 'restless',
            context: { lives: 0 },
            invoke: { id: 'begin', src: 'begin' },
            on: { begun: { actions: assign({ lives: ({ context }) => context.lives + 1 }) } },
          }),
      },
    })
    const first = await opened(path, { agent }, { maxRecoveries: 2 })
    await first.start('agent', 'Hi', { id: 'job' })
    await first.close()
    for (const recoveries of [1, 2]) {
      const runs = await opened(path, { agent }, { maxRecoveries: 2 })
      expect(await runs.list()).toMatchObject([{ status: 'running', recoveries }])
      await runs.close()
    }
    expect(await (await opened(path, { agent }, { maxRecoveries: 2 })).list()).toMatchObject([
      { status: 'abandoned' },
    ])
  })

  test('is given up when it got no further too often; a fork tries once more', async () => {
    const path = await left()
    for (let life = 0; life < 2; life += 1)
      await (await opened(path, { agent: wiping([[{ hang: true }]]).agent }, { maxRecoveries: 2 })).close()
    const { agent } = wiping(['Done.'])
    const runs = await opened(path, { agent }, { maxRecoveries: 2 })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow(/was abandoned: it was started again 2 times/)
    expect(await run?.info()).toMatchObject({ status: 'abandoned', error: { name: 'OrchestrationError' } })
    expect(run && (await readAll(run)).chunks.at(-1)?.finishReason).toBe('error')
    const fork = await runs.fork('job')
    expect((await fork.result).output).toBe('Done.')
  })

  test('whose agent has changed too much is given up, and loses nothing', async () => {
    const path = await left()
    const { agent } = wiping([], { orchestrator: reflectionOrchestrator() })
    const runs = await opened(path, { agent })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow(
      /not a snapshot that the machine "reflection" can continue from/,
    )
    const error = await run?.result.catch((thrown) => thrown)
    expect(error.partial.messages).toHaveLength(3)
    await runs.close()
    // Whoever brings the old agent back goes on from it.
    const again = await opened(path, { agent: wiping(['Done.']).agent })
    expect((await (await again.fork('job')).result).output).toBe('Done.')
  })

  test('whose agent is not there is left alone, and says so', async () => {
    const path = await left()
    const runs = await opened(path, { other: wiping([]).agent })
    const run = await runs.get('job')
    await expect(run?.result).rejects.toThrow('There is no agent "agent" in agents: other.')
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

describe('two that open a store', () => {
  test('share it: one runs, and the other takes over when it is gone', async () => {
    const path = storeFile()
    const [first, second] = [wiping(['One.', [{ hang: true }]]), wiping(['Two.'])]
    const owner = await opened(path, { agent: first.agent })
    const other = await opened(path, { agent: second.agent })
    const run = await other.start('agent', 'Hi', { id: 'one' })
    expect((await run.result).output).toBe('One.')
    expect(await run.info()).toMatchObject({ recoveries: 0 })
    await other.start('agent', 'Hi', { id: 'two' })
    const stuck = await owner.get('two')
    for await (const { chunk } of stuck?.stream() ?? []) if (chunk.messages.length > 0) break
    await owner.close()
    expect((await (await other.get('two'))?.result)?.output).toBe('Two.')
    first.model.assertDone()
    second.model.assertDone()
  })

  test('both start a run of the same id: it runs once', async () => {
    const path = storeFile()
    const [first, second] = [wiping(['One.']), wiping([])]
    const owner = await opened(path, { agent: first.agent })
    const other = await opened(path, { agent: second.agent })
    const runs = await Promise.all([
      other.start('agent', 'Hi', { id: 'a' }),
      owner.start('agent', 'Hi', { id: 'a' }),
    ])
    for (const run of runs) expect((await run.result).output).toBe('One.')
    first.model.assertDone()
  })

  test('hear of each other’s chats, forks and prunings', async () => {
    const path = storeFile()
    const { agent } = wiping(['One.', 'Two.', 'Three.'])
    const owner = await opened(path, { agent })
    const other = await opened(path, { agent: wiping([]).agent })
    const chat = await other.chat('c')
    await (await chat.send('1?')).result
    await (await chat.send('2?')).result
    expect(await (await owner.chat('c')).history()).toHaveLength(4)
    const [newest] = await other.list()
    const fork = await other.fork(newest?.id ?? '')
    expect((await fork.result).output).toBe('Three.')
    expect(await other.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(2)
    expect(await owner.list()).toHaveLength(1)
  })

  test('a command that came too late is forgotten', async () => {
    const path = storeFile()
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    // As if two processes had decided at the same moment.
    for (const type of ['tool.approve', 'tool.approve', 'tool.reject'])
      changed(path, `INSERT INTO commands (run, data) VALUES (1, '${JSON.stringify({ type, callId: 'c' })}')`)
    expect((await run.result).output).toBe('Done.')
    expect(wiped).toEqual(['b'])
    await expect
      .poll(() => {
        const file = open(path)
        const rest = file.prepare('SELECT n FROM commands').all()
        file.close()
        return rest
      })
      .toEqual([])
  })
})
