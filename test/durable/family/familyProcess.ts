// A process of the kill series of families: `node familyProcess.mjs work|send <folder> <seed> [moments] [database]`. It is killed
// at any time, or ends itself around that commit of its own. Without the address of a database, the runs are in a file.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { MessageTiming } from '../../../machines/agent/events.ts'
import { dbosRuns } from '../../../src/dbos/index.ts'
import { openRuns, sqlite } from '../../../src/durable/index.ts'
import { findDriver } from '../../../src/durable/sqlite/driver.ts'
import { dice } from '../../proof/dice.ts'
import { dieIn } from '../world/moments.ts'
import { watchedDriver } from '../world/watchedDriver.ts'
import { familyLead } from './familyAgents.ts'

const [what = '', folder = '', seed = '', moments = '', databaseUrl = ''] = process.argv.slice(2)
const random = dice(Number(seed))

const say = (data: unknown): void => void process.stdout.write(`${JSON.stringify(data)}\n`)

/** The runs that are to be played, as the test has written them down. */
const planned = (): string[] => {
  const file = join(folder, 'plan')
  const count = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  return Array.from({ length: count }, (_, index) => `r${index}`)
}

const isWorker = what === 'work'
const agents = isWorker ? { lead: familyLead(join(folder, 'effects.log')) } : {}
const fileOfRuns = async () =>
  openRuns({
    store: sqlite(join(folder, 'runs.db'), { driver: watchedDriver(await findDriver(), folder) }),
    agents,
  })
// The driver of Postgres warns of itself.
if (databaseUrl !== '') process.removeAllListeners('warning')
const runs =
  databaseUrl === ''
    ? await fileOfRuns()
    : await dbosRuns({ databaseUrl, agents, takeOverAfterMs: 2000, maxRecoveries: 1000 })
if (moments !== '') dieIn({ moments: Number(moments) })

const timings: MessageTiming[] = ['now', 'step', 'idle']

/** The runs in which the person who is asked has made up their mind: not before some messages were sent. */
const isApproved = new Set<string>()

/** Sends the messages of a run in their order. One that is not sure whether they arrived sends them all again. */
const sendAll = async (id: string): Promise<void> => {
  const approved = random.below(6)
  for (const [index, when] of [...timings, ...timings].entries()) {
    await pause(random.below(40))
    const text = `${when} ${index}`
    const commandId = `m${index}`
    say({ id, text, came: await runs.send(id, { type: 'message', text, when }, { commandId }) })
    if (index === approved) isApproved.add(id)
    if (index === 2)
      await runs
        .wake(id, { at: new Date(0), message: 'woken', commandId: 'wake' })
        .then(() => say({ id, text: 'woken', came: 'queued' }))
        .catch(() => say({ id, text: 'woken', came: 'refused' }))
  }
}

/** Says yes to each reader that asks for it, once. */
const approveAll = async (id: string): Promise<void> => {
  const pending = (await (await runs.get(id))?.info())?.pending ?? []
  for (const { id: callId, name } of pending.filter((call) => call.name === 'ask'))
    await runs.send(id, { type: 'tool.approve', callId }, { commandId: `${name} ${callId}` }).catch(() => {})
}

const known = new Set<string>()
for (;;) {
  for (const id of planned()) {
    const run = await runs.get(id)
    if (isWorker && !run) await runs.start('lead', id, { id })
    if (isWorker || !run) continue
    if (!known.has(id)) void sendAll(id)
    known.add(id)
    if (isApproved.has(id)) await approveAll(id)
  }
  await pause(15)
}
