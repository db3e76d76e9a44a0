// Background agents in the inspector: each is a line of the tree below the run that started it.
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { type Inspector, startInspector } from '../../src/inspector/index.ts'
import type { ActorRow } from '../../src/inspector/protocol.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { folder } from '../cli/spawned.ts'
import { removal } from '../cli/storedRuns.ts'
import { command, listen, type PageFeed } from './watching.ts'

const task = (id: string, name: string, prompt: string) => ({ toolCall: { id, name, arguments: { prompt } } })

/** A lead with a researcher, which has a reader that asks a person. */
const family = (inspect: Inspector['inspect']): Agent => {
  const ask = { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } }
  const reader = new Agent(scriptedModel([[ask], 'Read.']), { name: 'reader', tools: [removal] })
  const read = reader.asTool({ name: 'read', description: 'Reads', background: true })
  const researcher = new Agent(scriptedModel([[task('r1', 'read', 'Read it')], 'I wait.', 'Found.']), {
    name: 'researcher',
    tools: [read],
  })
  const research = researcher.asTool({ name: 'research', description: 'R', background: true })
  const turns = [[task('t1', 'research', 'Find it')], 'I wait.', 'Done.']
  return new Agent(scriptedModel(turns), { name: 'lead', tools: [research], inspect })
}

/** The agents of the tree, each with the agent above it. */
const agentsIn = (feed: PageFeed): string[] => {
  const rows = [...feed.actors.values()]
  const above = ({ parent }: ActorRow): ActorRow | undefined => {
    const row = rows.find(({ id }) => id === parent)
    return row && row.kind !== 'agent' ? above(row) : row
  }
  return rows.filter(({ kind }) => kind === 'agent').map((row) => `${row.title} < ${above(row)?.title}`)
}

it.each(['in memory', 'stored'])('shows the tasks of a run as a tree (%s)', async (where) => {
  const inspector = await startInspector({ keepsAlive: false })
  onTestFinished(() => inspector.close())
  const agent = family(inspector.inspect)
  if (where === 'in memory') {
    const run = agent.start('Research')
    onTestFinished(() => run.abort())
  } else {
    const runs = await openRuns({ store: sqlite(join(await folder(), 'runs.db')), agents: { agent } })
    onTestFinished(() => runs.close())
    await inspector.show(runs)
    await runs.start('agent', 'Research', { id: 'job' })
  }
  const feed = await listen(inspector)
  await feed.until(() => agentsIn(feed).length === 3)
  expect(agentsIn(feed).toSorted()).toEqual([
    'Find it < Research',
    'Read it < Find it',
    'Research < undefined',
  ])
})

it('shows them also in a process that only reads the file, and sends them what people decide', async () => {
  const inspector = await startInspector({ keepsAlive: false })
  onTestFinished(() => inspector.close())
  const path = join(await folder(), 'runs.db')
  const runs = await openRuns({ store: sqlite(path), agents: { lead: family(() => {}) } })
  onTestFinished(() => runs.close())
  const run = await runs.start('lead', 'Research', { id: 'job' })
  await run.result
  const guest = await openRuns({ store: sqlite(path) })
  onTestFinished(() => guest.close())
  await inspector.show(guest)
  const feed = await listen(inspector)
  await feed.until(() => agentsIn(feed).length === 3)
  expect(agentsIn(feed).toSorted()).toEqual([
    'Find it < Research',
    'Read it < Find it',
    'Research < undefined',
  ])
  const row = (title: string) => [...feed.actors.values()].find((each) => each.title === title)
  expect(row('Read it')).toMatchObject({ run: 'job/t1/r1', status: 'waiting', state: 'AwaitingApproval' })
  const reader = await listen(inspector, row('Read it')?.id)
  await reader.until(() => reader.tools.get('c1')?.status === 'pending')
  const sent = await command(inspector, { actor: row('Read it')?.id, type: 'tool.approve', callId: 'c1' })
  expect([sent.status, await sent.text()]).toEqual([200, '{"note":""}'])
  await feed.until(() => row('Research')?.status === 'done')
  expect([row('Find it')?.status, row('Read it')?.status]).toEqual(['done', 'done'])
  expect((await run.result).answer).toBe('Done.')
})
