import { expect, test } from 'vitest'
import { Agent, reasoningOrchestrator, tool } from '../../src/index.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/index.ts'

test('a chart made of runs shows a call before it says that it waits for it', async () => {
  const wipe = tool({ name: 'wipe', description: 'Wipes a disk', needsApproval: true, execute: () => 'done' })
  const model = scriptedModel(['Analysis.', 'Hypothesis.', [{ toolCall: { id: 'a', name: 'wipe' } }]])
  const agent = new Agent(model, { tools: [wipe], orchestrator: reasoningOrchestrator() })
  const actor = agent.actor({ prompt: 'Tidy up.' })
  const reported: string[] = []
  actor.on('chunk', ({ messages }) => reported.push(...messages.flatMap(toolCallsOf).map(({ id }) => id)))
  const reportedByThen = await new Promise((resolve) => {
    actor.subscribe((snapshot) => {
      if (snapshot.hasTag('waiting')) resolve([...reported])
    })
    actor.start()
  })
  actor.stop()
  expect(reportedByThen).toEqual(['a'])
})
