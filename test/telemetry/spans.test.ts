/** Every run is a trace: what it asked, what it ran, whom it waited for. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { observe } from './observed.ts'

test('x', async () => {
  const observed = observe()
  const work = tool({ name: 'work', description: 'Works', execute: () => 'done' })
  const model = scriptedModel([[{ toolCall: { name: 'work', id: 'a' } }], 'Hello'])
  const agent = new Agent(model, { name: 'worker', tools: [work], inspect: telemetry({ captureContent: true }) })
  await agent.send('hi')
  console.log(observed.tree())
  for (const s of observed.spans) console.log(s.name, s.attributes, s.events)
  console.log(JSON.stringify(await observed.measured(), null, 1))
})
