import { expect, test } from 'vitest'
import { textOf } from '../../src/messages/messages.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { wiping } from './wiping.ts'

test.each([
  ['steer', { type: 'steer', text: 'One more thing.' }, 'complete'],
  ['abort', { type: 'abort' }, 'aborted'],
] as const)(
  'a run does not end before it has heard a %s that was acknowledged',
  async (_, command, status) => {
    const path = storeFile()
    let isSent = false
    const { agent } = wiping(['Done.', 'Done.', 'That as well.'], {
      // Too late for the process that runs it to look for news before the answer is there.
      prepareStep: async () => {
        if (!isSent) await others.send('job', command)
        isSent = true
        return undefined
      },
    })
    const runs = await opened(path, { agent })
    const others = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe it.', { id: 'job' })
    const { messages } = await readAll(run)
    expect((await run.info()).status).toBe(status)
    const said = messages.map(textOf).filter((text) => text === 'One more thing.')
    expect(said).toHaveLength(command.type === 'steer' ? 1 : 0)
  },
)
