/**
 * A run that sleeps, whose question expires, and that gets messages of a second process, dies after any of its commits: no wake-up
 * and no message is lost or doubled, and their order is kept.
 */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { StoredRuns } from '../../src/durable/index.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { tool } from '../../src/tools/tool.ts'
import { sampled } from '../proof/sample.ts'
import { copying } from './copying.ts'
import { opened, storeFile } from './storeFile.ts'
import { words, wordyModel } from './wordyModel.ts'

const model = wordyModel(({ messages }) => {
  const results = messages.flatMap(toolResultsOf).length
  if (results === 0)
    return [
      ...words('I sleep first. '),
      { toolCall: { id: 's', name: 'sleep', arguments: { seconds: 0.02 } } },
    ]
  if (results === 1) return [...words('Now I ask. '), { toolCall: { id: 'a', name: 'ask' } }]
  return words('That was all. ')
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  needsApproval: true,
  expiresMs: 20,
  execute: () => 'never runs',
})

const texts = ['step 1', 'idle 1', 'step 2', 'idle 2']

/** A client that is not sure whether its messages arrived sends them all again. */
const sendAll = async (runs: StoredRuns) => {
  for (const text of texts) {
    const when = text.startsWith('idle') ? 'idle' : 'step'
    await runs.send('job', { type: 'message', text, when }, { commandId: text })
  }
}

test('a wake-up, an expiry and messages come once after any commit', async () => {
  const path = storeFile()
  const agent = new Agent(model, { tools: [sleepTool(), ask] })
  const copies: string[] = []
  const driver = await copying(path, (copy) => void copies.push(copy))
  const runs = await opened(path, { agent }, { driver, synchronous: 'normal' })
  const guest = await opened(path, {})
  const check = async (of: StoredRuns) => {
    const run = await of.get('job')
    let result = await run?.result
    // It waits until its question expires.
    while (result?.status === 'waiting') {
      await new Promise((resolve) => setTimeout(resolve, 5))
      result = await run?.result
    }
    const messages = result?.messages ?? []
    expect(validateHistory(messages)).toEqual([])
    const found = messages.flatMap(toolResultsOf).map(({ id, result: said }) => `${id} ${said}`)
    expect(found).toEqual([expect.stringMatching(/^s Slept for/), expect.stringMatching(/^a .*in time/)])
    const said = messages.flatMap(({ role, parts }) =>
      role === 'user' ? parts.map((part) => (part.type === 'text' ? part.text : '')) : [],
    )
    const of1 = (kind: string) => said.filter((text) => text.startsWith(kind))
    expect([of1('step'), of1('idle')]).toEqual([
      ['step 1', 'step 2'],
      ['idle 1', 'idle 2'],
    ])
    expect(textOf(messages.at(-1) ?? { role: 'user', parts: [] })).toBe('That was all. ')
  }
  await runs.start('agent', 'Go', { id: 'job' })
  await sendAll(guest)
  await check(runs)
  await guest.close()
  await runs.close()
  expect(copies.length).toBeGreaterThan(10)
  for (const copy of sampled(copies, 0.5)) {
    const later = await opened(copy, { agent }, { synchronous: 'normal' })
    if (await later.get('job')) {
      await sendAll(later)
      await check(later)
    }
    await later.close()
  }
}, 120_000)
