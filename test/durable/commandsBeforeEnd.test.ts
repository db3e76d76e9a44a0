import { expect, test } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { textOf } from '../../src/messages/messages.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { wiping } from './wiping.ts'

const steer: AgentCommand = { type: 'steer', text: 'One more thing.' }
const reflection = { orchestrator: reflectionOrchestrator({ isContent: () => true }) }

test.each([
  ['a run', 'a steer', {}, 1, steer, 'complete'],
  ['a run', 'an abort', {}, 1, { type: 'abort' }, 'aborted'],
  ['a chart made of runs', 'a steer', reflection, 2, steer, 'complete'],
  ['a chart made of runs', 'an abort', reflection, 2, { type: 'abort' }, 'aborted'],
] as const)(
  '%s does not end before it gets %s that was acknowledged',
  async (_, __, options, last, command, status) => {
    const path = storeFile()
    let turns = 0
    const { agent } = wiping(Array(6).fill('Done.'), {
      ...options,
      // Too late for the process that runs it to look for news before the answer is there.
      prepareStep: async () => {
        turns += 1
        if (turns === last) await others.send('job', command)
        return undefined
      },
    })
    const runs = await opened(path, { agent })
    const others = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe it.', { id: 'job' })
    const { messages, texts } = await readAll(run)
    expect((await run.info()).status).toBe(status)
    const answers = messages.filter(({ role, parts }) => role === 'model' && parts.length > 0)
    expect(texts.map((text) => text.trim())).toEqual(answers.map(textOf))
    const said = messages.map(textOf).filter((text) => text === 'One more thing.')
    expect(said).toHaveLength(command.type === 'steer' ? 1 : 0)
  },
)
