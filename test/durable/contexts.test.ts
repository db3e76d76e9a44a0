/** The context of stored runs is made by a function of yours, for each run that is started or continued. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'

const call: ScriptTurn = [{ toolCall: { id: 'c1', name: 'erase' } }]
const asking = (turns: ScriptTurn[] = [call, call]) =>
  new Agent(scriptedModel(turns), {
    tools: [tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'erased' })],
  })

const bad = {
  throws: () => {
    throw new Error('no such user')
  },
  'is async': async () => ({ user: 'ada' }),
  'is async and rejects': async () => {
    throw new Error('no such user')
  },
}

test.each(Object.entries(bad))('one that %s refuses the run, and ends nothing', async (_, context) => {
  const runs = await opened(storeFile(), { asking: asking() }, { context })
  await expect(runs.start('asking', 'Go')).rejects.toThrow(/context|no such user/)
  await new Promise((resolve) => setImmediate(resolve))
})

test.each(Object.entries(bad))(
  'one that %s leaves the store open, and the other runs alone',
  async (_, context) => {
    const path = storeFile()
    const first = await opened(path, { asking: asking() })
    for (const id of ['good', 'bad']) {
      const run = await first.start('asking', 'Go', { id, context: { id } })
      await run.result
    }
    await first.close()
    const made = (stored: unknown) => (Object(stored).id === 'bad' ? context() : stored)
    const runs = await opened(path, { asking: asking(['Done.']) }, { context: made })
    await runs.send('good', { type: 'tool.approve', callId: 'c1' })
    await expect.poll(async () => (await runs.get('good'))?.info()).toMatchObject({ status: 'complete' })
    await runs.send('bad', { type: 'tool.approve', callId: 'c1' }).catch(() => {})
    await new Promise((resolve) => setImmediate(resolve))
    expect((await runs.list()).map(({ id }) => id).toSorted()).toEqual(['bad', 'good'])
  },
)

test.each(Object.entries(bad))(
  'one that %s does not keep a store with a run under way from being opened',
  async (_, context) => {
    const path = storeFile()
    const hanging = () => new Agent(scriptedModel([[{ text: 'Well' }, { hang: true }], 'Done.']))
    const first = await opened(path, { hanging: hanging() })
    await first.start('hanging', 'Go', { id: 'bad' })
    await first.close({ drain: 0 })
    const runs = await opened(path, { hanging: hanging() }, { context })
    await new Promise((resolve) => setImmediate(resolve))
    expect(await runs.list()).toHaveLength(1)
  },
)
