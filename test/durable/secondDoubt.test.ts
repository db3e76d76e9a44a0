/** A call that is in doubt twice: a decision that is sent again, because its sender does not know whether it arrived. */
import { expect, test } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { viewOf } from '../../src/durable/storeView.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'

/** A run whose call was approved in doubt, ran a second time, and is in doubt again: its process died both times. */
const doubtedTwice = async () => {
  let ran = 0
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    onInterrupted: 'ask',
    execute: () => {
      ran += 1
      return ran <= 2 ? new Promise(() => {}) : `paid ${ran}`
    },
  })
  const model = scriptedModel([[{ toolCall: { id: 'a', name: 'pay' } }], 'Done.'])
  const runs = await opened(storeFile(), { payer: new Agent(model, { tools: [pay] }) })
  const run = await runs.start('payer', 'Pay', { id: 'job' })
  const hasRun = (times: number) => expect.poll(() => ran).toBe(times)
  const pendingAfterDeath = async () => {
    viewOf(runs)?.restart?.('job')
    const [call] = (await run.result).pendingApproval?.calls ?? []
    return call
  }
  await hasRun(1)
  const first = await pendingAfterDeath()
  const yes = (question?: string): AgentCommand => ({
    type: 'tool.approve',
    callId: 'a',
    ...(question !== undefined && { question }),
  })
  await runs.send('job', yes(first?.question))
  await hasRun(2)
  const second = await pendingAfterDeath()
  expect([first, second]).toMatchObject([{ inDoubt: true }, { inDoubt: true }])
  return {
    run,
    send: (command: AgentCommand) => runs.send('job', command),
    yes,
    first,
    second,
    ran: () => ran,
  }
}

test('with its question it counts once: the call does not run a third time, and still waits', async () => {
  const { run, send, yes, first, second, ran } = await doubtedTwice()
  await expect(send(yes(first?.question))).rejects.toThrow(
    'is about another question than the one that waits',
  )
  expect((await run.result).pendingApproval?.calls).toEqual([second])
  expect(ran()).toBe(2)
  await send({ ...yes(second?.question), type: 'tool.answer', callId: 'a', result: 'paid by hand' })
  const { answer, messages } = await run.result
  expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['paid by hand'])
  expect([answer, ran()]).toEqual(['Done.', 2])
})

test('without a question it is about the call that waits now: the call runs a third time', async () => {
  const { run, send, yes, ran } = await doubtedTwice()
  await send(yes())
  const { messages } = await run.result
  expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['paid 3'])
  expect(ran()).toBe(3)
})
