/** A call that a chat waits for is decided on once: nothing runs twice, and nothing is lost. */
import { describe, expect, test } from 'vitest'
import { Chat } from '../../src/agent/Chat.ts'
import type { AnyRun } from '../../src/agent/Run.ts'
import { ConfigurationError, ModelError, OrchestrationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { collect, rejection } from '../engine/watching.ts'
import { askingAgent, call, settled } from './askingAgent.ts'

const soon = async (turns: number) => {
  for (let turn = 0; turn < turns; turn += 1) await undefined
}

describe('a stream that resumes an answer', () => {
  test.each(Array.from({ length: 16 }, (_, turns) => turns))(
    'and is left after %i turns of the event loop leaves the call either waiting or done with',
    async (turns) => {
      const { agent, ran } = askingAgent([[call('a')], 'done', 'more'])
      const chat = new Chat(agent)
      await chat.send('Go')
      const stream = chat.resumeStream({ a: true })
      const first = stream.next()
      await soon(turns)
      await stream.return?.()
      await settled(first)
      if (chat.pending) {
        expect([ran, chat.history]).toEqual([[], []])
        await settled(chat.resume({ a: true }))
        expect(ran).toEqual(['a {}'])
      }
      expect(chat.history).toHaveLength(4)
      expect(ran.length).toBeLessThan(2)
      await settled(chat.send('And now?'))
      expect(validateHistory(chat.history)).toEqual([])
    },
  )

  test('and fails adds what was reached to the history once', async () => {
    const { agent } = askingAgent([[call('a')], [{ text: 'Hal' }, { error: { message: 'boom' } }], 'ok'])
    const chat = new Chat(agent)
    await chat.send('Go')
    await rejection(collect(chat.resumeStream({ a: true })), ModelError)
    expect(chat.history.map(textOf)).toEqual(['Go', '', '', 'Hal'])
    expect(chat.pending).toBeUndefined()
  })

  test('with a wrong decision leaves the answer waiting', async () => {
    const { agent } = askingAgent([[call('a')], 'done'])
    const chat = new Chat(agent)
    await chat.send('Go')
    await rejection(collect(chat.resumeStream({ typo: true })), ConfigurationError)
    expect(chat.history).toEqual([])
    expect((await settled(chat.resume({ a: true }))).output).toBe('done')
  })

  test('and waits again is the only one who knows what waits then', async () => {
    const { agent, ran } = askingAgent([[call('a')], [call('b')], 'done'])
    const chat = new Chat(agent)
    await chat.send('Go')
    for await (const { pendingApproval } of chat.resumeStream({ a: true })) if (pendingApproval) break
    expect(chat.pending?.calls).toMatchObject([{ id: 'b' }])
    await settled(chat.resume({ b: true }))
    expect(ran).toEqual(['a {}', 'b {}'])
    expect(validateHistory(chat.history)).toEqual([])
  })
})

describe('an answer that waits inside a loop', () => {
  test.each(['refuse', 'queue'] as const)('is resumed there (%s)', async (whenBusy) => {
    const { agent, ran } = askingAgent([[call('a')], [call('b')], 'done', 'more'])
    const chat = new Chat(agent, { whenBusy })
    const loop = async () => {
      for await (const { pendingApproval } of chat.sendStream('Go')) {
        if (!pendingApproval) continue
        for await (const inner of chat.resumeStream({ a: true }))
          if (inner.pendingApproval) await chat.resume({ b: true })
      }
    }
    await settled(loop())
    expect(ran).toEqual(['a {}', 'b {}'])
    expect(chat.history).toHaveLength(6)
    await settled(chat.send('And now?'))
    expect(validateHistory(chat.history)).toEqual([])
  })

  test('is resumed before what is queued behind it', async () => {
    const { agent } = askingAgent([[call('a')], 'done', 'more'])
    const chat = new Chat(agent, { whenBusy: 'queue' })
    let queued: Promise<{ output: string }> | undefined
    for await (const { pendingApproval } of chat.sendStream('Go')) {
      if (!pendingApproval) continue
      queued = chat.send('And now?')
      expect((await settled(chat.resume({ a: true }))).output).toBe('done')
    }
    expect(await settled(queued ?? Promise.reject(new Error('Nothing was queued.')))).toMatchObject({
      output: 'more',
    })
    expect(chat.history.map(textOf)).toEqual(['Go', '', '', 'done', 'And now?', 'more'])
  })

  test('cannot be steered: no answer is running', async () => {
    const chat = new Chat(askingAgent([[call('a')]]).agent)
    for await (const { pendingApproval } of chat.sendStream('Go'))
      if (pendingApproval) expect(() => chat.steer('hurry')).toThrow(OrchestrationError)
    expect(chat.pending).toBeDefined()
  })
})

describe('a chat that gave away the handle of its run', () => {
  const held = async () => {
    const asking = askingAgent([[call('a')], 'done', 'more'])
    const chat = new Chat(asking.agent)
    const runs: AnyRun[] = []
    const onStart = (run: AnyRun) => void runs.push(run)
    return { ...asking, chat, runs, onStart }
  }

  test('lets it decide while the answer is given', async () => {
    const { chat, ran, runs, onStart } = await held()
    for await (const { pendingApproval } of chat.sendStream('Go', { onStart }))
      if (pendingApproval) runs[0]?.approve('a')
    expect(chat.pending).toBeUndefined()
    expect(ran).toEqual(['a {}'])
    expect(chat.history).toHaveLength(4)
  })

  test('does not let it run a call that the chat waits for, once the send is over', async () => {
    const { chat, ran, runs, onStart } = await held()
    await chat.send('Go', { onStart })
    expect(() => runs[0]?.approve('a')).toThrow(ConfigurationError)
    expect(runs[0]?.pending).toEqual([])
    await settled(chat.resume({ a: true }))
    expect(ran).toEqual(['a {}'])
  })

  test('does not let it run a call that the chat has resumed inside the loop', async () => {
    const { chat, ran, runs, onStart } = await held()
    for await (const { pendingApproval } of chat.sendStream('Go', { onStart })) {
      if (!pendingApproval) continue
      await settled(chat.resume({ a: true }))
      expect(() => runs[0]?.approve('a')).toThrow(ConfigurationError)
    }
    expect(ran).toEqual(['a {}'])
    expect(chat.history).toHaveLength(4)
  })

  test('forgets the wait when the handle decides and the loop is left at once', async () => {
    const { chat, ran, runs, onStart } = await held()
    for await (const { pendingApproval } of chat.sendStream('Go', { onStart })) {
      if (!pendingApproval) continue
      runs[0]?.approve('a')
      break
    }
    expect(chat.pending).toBeUndefined()
    expect(ran.length).toBeLessThan(2)
    expect(validateHistory(chat.history)).toEqual([])
    await settled(chat.send('And now?'))
    expect(validateHistory(chat.history)).toEqual([])
  })
})
