/** Callbacks that are async and reject leave the process alive. Vitest fails on a rejection that is not handled. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const onStart = async () => {
  throw new Error('no log')
}

test('onStart of a send, a stream and a run', async () => {
  const agent = new Agent(scriptedModel(['one', 'two', 'three']))
  expect((await agent.send('x', { onStart })).answer).toBe('one')
  let text = ''
  for await (const { output } of agent.sendStream('x', { onStart })) text += output
  expect(text).toBe('two')
  expect((await agent.start('x', { onStart }).result).answer).toBe('three')
  await new Promise((resolve) => setImmediate(resolve))
})

test('onStart that throws at once fails the send', async () => {
  const agent = new Agent(scriptedModel(['one']))
  const thrown = () => {
    throw new Error('not now')
  }
  await expect(agent.send('x', { onStart: thrown })).rejects.toThrow('not now')
})
