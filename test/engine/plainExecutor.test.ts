/** What createToolExecutor gives may be handed back, whole or in part: nothing else changes by it. */
import { describe, expect, test } from 'vitest'
import { type AnyActorRef, createActor } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'
import { gated, recorder } from './sampleTools.ts'
import { endOf, idle } from './watching.ts'

const callsOf = (...ids: string[]): ScriptTurn =>
  ids.map((id) => ({ toolCall: { id, name: 'work', arguments: { path: id } } }))

describe('the executor of createToolExecutor', () => {
  const parallel = (toolExecutor: object) => {
    const slow = gated('work')
    const agent = new Agent(scriptedModel([callsOf('a', 'b'), 'ok']), {
      tools: [slow.tool],
      toolExecution: 'parallel',
      toolExecutor,
    })
    return { slow, agent }
  }

  test('runs calls as the default one does: in parallel, each as an actor', async () => {
    const { slow, agent } = parallel(createToolExecutor())
    const actors: string[] = []
    const actor = createActor(agent.machine, {
      input: { prompt: 'Go' },
      inspect: (event) => {
        if (event.type === '@xstate.actor') actors.push((event.actorRef as AnyActorRef).id)
      },
    }).start()
    await idle()
    expect(slow.starts).toEqual(['a', 'b'])
    slow.release('b')
    slow.release('a')
    expect((await endOf(actor)).status).toBe('complete')
    expect(actors.filter((id) => id.startsWith('call:'))).toEqual(['call:a', 'call:b'])
  })

  test.each(['sequential', 'parallel'] as const)(
    'calls an executeSingle that was replaced, %s',
    async (toolExecution) => {
      const seen: string[] = []
      const plain = createToolExecutor()
      const echo = recorder('work')
      const agent = new Agent(scriptedModel([callsOf('a', 'b'), 'ok']), {
        tools: [echo.tool],
        toolExecution,
        toolExecutor: {
          ...plain,
          executeSingle: (call, ...rest) => {
            seen.push(call.id)
            return plain.executeSingle(call, ...rest)
          },
        },
      })
      await agent.send('Go')
      expect(seen).toEqual(['a', 'b'])
      expect(echo.calls).toEqual(['a', 'b'])
    },
  )
})

test('a call does not begin once a listener of the result before it has ended the run', async () => {
  const begun: string[] = []
  const agent = new Agent(scriptedModel([callsOf('a', 'b'), 'ok']), {
    tools: [recorder('work').tool],
    toolExecutor: {
      executeSingle: async ({ id, name }) => {
        begun.push(id)
        return { type: 'toolResult', id, name, result: 'ok' }
      },
    },
  })
  const actor = agent.actor({ prompt: 'Go' })
  actor.on('tool.result', () => actor.send({ type: 'abort' }))
  expect((await endOf(actor.start())).status).toBe('aborted')
  await idle()
  expect(begun).toEqual(['a'])
})
