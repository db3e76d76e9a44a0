/** A server that is killed, and started again, during a run: nothing runs twice, nothing hangs. */
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { McpConnection } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected, everything, everythingOnPort } from './servers.ts'

const echo = (id: string) => [{ toolCall: { id, name: 'echo', arguments: { message: id } } }]
const long = [
  {
    toolCall: { id: 'long', name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 60 } },
  },
]

/** The results of a run's calls. Each function is called before the model's answer that makes the call. */
const results = async (remote: McpConnection, turns: readonly (() => Promise<void> | void)[]) => {
  const script = [...turns.map((_, index) => echo(`e${index}`)), 'done']
  const agent = new Agent(scriptedModel(script), {
    tools: [remote],
    prepareStep: async ({ step }) => {
      await turns[step - 1]?.()
      return {}
    },
  })
  const { messages, finishReason } = await agent.send('go')
  expect(finishReason).toBe('stop')
  return messages.flatMap(toolResultsOf).map(({ result }) => result)
}

const longRun = async (remote: McpConnection, whileRunning: () => Promise<void>) => {
  const run = new Agent(scriptedModel([long, echo('after'), 'done']), { tools: [remote] }).start('go')
  const begun = new Promise<void>((resolve, reject) => {
    const { unsubscribe } = run.on('tool.progress', () => {
      unsubscribe()
      whileRunning().then(resolve, reject)
    })
  })
  const { messages } = await run.result
  await begun
  return messages.flatMap(toolResultsOf)
}

describe.each(['streamableHttp', 'sse'] as const)('over %s', (wire) => {
  test('a call after the restart runs, on a new session', async () => {
    const server = await everythingOnPort(wire)
    const remote = await connected({ url: server.url, fetch: server.fetch })
    const restart = async () => {
      await server.prepare()
      await server.kill()
      await server.start()
    }
    expect(await results(remote, [() => {}, restart, () => {}])).toEqual(['Echo: e0', 'Echo: e1', 'Echo: e2'])
  })

  test('a call made while the server is down waits for it to come back', async () => {
    const server = await everythingOnPort(wire)
    const remote = await connected({ url: server.url, fetch: server.fetch })
    let started: Promise<void> | undefined
    const down = async () => {
      await server.prepare()
      await server.kill()
      started = setTimeout(300).then(server.start)
    }
    expect(await results(remote, [() => {}, down])).toEqual(['Echo: e0', 'Echo: e1'])
    await started
  })

  test('a call whose server dies ends in doubt, and is not repeated; the next one runs', async () => {
    const server = await everythingOnPort(wire)
    const remote = await connected({ url: server.url, fetch: server.fetch })
    await server.prepare()
    const [cut, after] = await longRun(remote, async () => {
      await server.kill()
      await server.start()
    })
    expect(cut).toMatchObject({ isError: true, result: expect.stringContaining('took effect is unknown') })
    expect(after).toMatchObject({ result: 'Echo: after' })
  })

  test('a server that stays down is an error for the model, not for the run', async () => {
    const server = await everythingOnPort(wire)
    const remote = await connected({ url: `${server.url}?key=hidden-key-of-mine`, fetch: server.fetch })
    const [gone] = await results(remote, [() => server.kill()])
    expect(gone).toMatch(/Cannot reconnect to the MCP server/)
    expect(gone).not.toContain('hidden-key')
  })
})

describe('over stdio', () => {
  const pidOf = (remote: McpConnection): number | undefined => {
    const pid: unknown = Reflect.get(Object(remote.client.transport), 'pid')
    return typeof pid === 'number' ? pid : undefined
  }
  const killServer = (remote: McpConnection): void => {
    const pid = pidOf(remote)
    if (pid === undefined) throw new Error('The server has no process.')
    process.kill(pid, 'SIGKILL')
  }

  test('a server that was killed is started again for the next call', async () => {
    const remote = await connected(everything)
    const first = pidOf(remote)
    const kill = async () => {
      killServer(remote)
      await expect.poll(() => pidOf(remote)).toBeUndefined()
    }
    expect(await results(remote, [() => {}, kill])).toEqual(['Echo: e0', 'Echo: e1'])
    expect(pidOf(remote)).not.toBe(first)
  })

  test('a call whose server is killed ends in doubt, and is not repeated; the next one runs', async () => {
    const remote = await connected(everything)
    const [cut, after] = await longRun(remote, async () => killServer(remote))
    expect(cut).toMatchObject({ isError: true, result: expect.stringContaining('took effect is unknown') })
    expect(after).toMatchObject({ result: 'Echo: after' })
  })
})
