/**
 * A command that another process has enqueued for a run counts once, whichever commit the process that runs it dies after: a command
 * passes through several charts on its way, and each of them writes down its own steps.
 */
import { expect, test } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { type DurableRun, openRuns, sqlite } from '../../src/durable/index.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { systemClock } from '../../src/model/clock.ts'
import { tool } from '../../src/tools/tool.ts'
import { copying } from './copying.ts'
import { opened, storeFile } from './storeFile.ts'
import { words, wordyModel } from './wordyModel.ts'

const remove = tool({
  name: 'remove',
  description: 'Removes.',
  needsApproval: true,
  onInterrupted: 'rerun',
  execute: async () => 'removed',
})

const cleaner = new Agent(
  wordyModel(({ messages }) =>
    messages.flatMap(toolResultsOf).length === 0
      ? [{ toolCall: { id: 'c1', name: 'remove' } }]
      : words('It is clean. '),
  ),
  { tools: [remove] },
)

/** The rest of the boss's answer, while it is held. */
let held: (() => void)[] | undefined
const clock = {
  ...systemClock,
  setTimeout: (say: () => void, ms: number) => (held ? held.push(say) : systemClock.setTimeout(say, ms)),
}

const boss = new Agent(
  wordyModel(
    ({ messages, tools = [] }) =>
      tools.length > 0 && messages.flatMap(toolResultsOf).length === 0
        ? [
            ...words('Let me see what there is to do. '),
            { toolCall: { id: 'd1', name: 'clean', arguments: { prompt: 'Clean all.' } } },
          ]
        : words('That is all I have to say. '),
    { clock },
  ),
  {
    tools: [cleaner.asTool({ name: 'clean', description: 'Cleans.' })],
    orchestrator: reflectionOrchestrator({ maxRounds: 1 }),
  },
)

const approval = { type: 'tool.approve', callId: 'd1/c1' } as const
const [early, late] = ['Mind the cat.', 'Mind the dog.'] as const

/** Counts how often a run got a text. */
const timesIn = async (run: DurableRun, text: string): Promise<number> =>
  (await run.result).messages.filter((message) => textOf(message).includes(text)).length

/** Until it has said its first word. */
const speaks = async (run: DurableRun): Promise<void> => {
  for await (const { chunk } of run.stream()) if (chunk.output !== '') return
}

/** Enqueues a command in a store, as a process that runs nothing; returns `taken`, or the refusal. */
const enqueueCommand = async (path: string, command: AgentCommand): Promise<string> => {
  const guest = await openRuns({ store: sqlite(path) })
  const answer = await guest.send('job', command).then(
    () => 'taken',
    (error: Error) => error.message,
  )
  await guest.close()
  return answer
}

test('a command counts once, whichever commit its process dies after', async () => {
  const path = storeFile()
  let said = { steered: false, approved: false }
  const copies: { copy: string; said: typeof said }[] = []
  const driver = await copying(path, (copy) => copies.push({ copy, said }))
  const owner = await opened(path, { boss }, { driver, synchronous: 'normal' })
  held = []
  const run = await owner.start('boss', 'Clean up', { id: 'job' })
  await speaks(run)
  expect(await enqueueCommand(path, { type: 'steer', text: early })).toBe('taken')
  said = { steered: true, approved: false }
  const rest = held
  held = undefined
  for (const say of rest) say()
  expect((await run.result).pendingApproval?.calls).toHaveLength(1)
  expect(await enqueueCommand(path, approval)).toBe('taken')
  said = { steered: true, approved: true }
  await expect.poll(async () => (await run.info()).status).toBe('complete')
  expect(await timesIn(run, early)).toBe(1)
  await owner.close()
  const between = ({ steered, approved }: typeof said) => steered && !approved
  expect(copies.filter((each) => between(each.said)).length).toBeGreaterThan(3)
  expect(copies.filter((each) => each.said.approved).length).toBeGreaterThan(3)

  const refusals = new Set<string>()
  for (const { copy, said: before } of copies) {
    const answer = await enqueueCommand(copy, { type: 'steer', text: late })
    if (answer !== 'taken') refusals.add(answer)
    const later = await opened(copy, { boss }, { synchronous: 'normal' })
    const found = await later.get('job')
    // The first commit made the tables.
    if (found) {
      await found.result
      if (!before.approved) await later.send('job', approval)
      expect({ copy, pending: (await found.result).pendingApproval }).toEqual({ copy, pending: undefined })
      if (before.steered) expect({ copy, early: await timesIn(found, early) }).toEqual({ copy, early: 1 })
      const times = answer === 'taken' ? 1 : 0
      expect({ copy, answer, late: await timesIn(found, late) }).toEqual({ copy, answer, late: times })
    }
    await later.close()
  }
  expect([...refusals].toSorted()).toEqual([
    'The run "job" is about to end, and can no longer be steered.',
    'The run "job" is over (complete): start a new one, or fork it.',
    'There is no run "job".',
  ])
}, 120_000)
