// A process that runs the fan-out of tasks, or one that only lists them: `node … <work | list> <path>`.
import { setTimeout as pause } from 'node:timers/promises'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { fanOutLead } from './fanOutLead.ts'

const [, , mode = '', path = ''] = process.argv
const print = (word: string, data: unknown) => process.stdout.write(`${word} ${JSON.stringify(data)}\n`)

if (mode === 'work') {
  const { agent } = fanOutLead()
  const store = sqlite(path, { synchronous: 'normal' })
  const runs = await openRuns({ store, agents: { agent } })
  const run = await runs.start('agent', 'Go', { id: 'job' })
  print('open', process.pid)
  print('done', (await run.result).answer)
  await runs.close()
} else {
  const runs = await openRuns({ store: sqlite(path) })
  const run = await runs.get('job')
  for (let isOver = false; run && !isOver; await pause(5)) {
    isOver = (await run.info()).status === 'complete'
    print('list', await runs.list({ parent: 'job', limit: 1000 }))
  }
  await runs.close()
  print('over', 'job')
}
