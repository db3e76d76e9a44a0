import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError, ModelError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { brief, collect, idle } from './watching.ts'

describe('the iterator of sendStream', () => {
  test('gives the chunks in order to calls of next that do not wait for each other', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'a' }, { delayMs: 1 }, { text: 'b' }]])).sendStream('Hi')
    const pulls = Array.from({ length: 7 }, () => stream.next())
    const outcome = await Promise.all(pulls)
    expect(outcome.map(({ value }) => value && brief(value))).toEqual([
      'user',
      { text: 'a' },
      { text: 'b' },
      'model',
      { finishReason: 'stop' },
      undefined,
      undefined,
    ])
  })

  test('keeps chunks for a slow reader', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'a' }, { text: 'b' }, { text: 'c' }]])).sendStream('Hi')
    await stream.next()
    await idle()
    const rest = await collect(stream)
    expect(rest.map(({ output }) => output).join('')).toBe('abc')
  })

  test('is over after its end, however often it is asked', async () => {
    const stream = new Agent(scriptedModel(['a'])).sendStream('Hi')
    await collect(stream)
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(await stream.return?.()).toEqual({ value: undefined, done: true })
  })

  test('settles a pull that waits when it is returned', async () => {
    const stream = new Agent(scriptedModel([[{ hang: true }]])).sendStream('Hi')
    await stream.next()
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ value: undefined, done: true })
  })

  test('drops what was not read when it is returned', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'a' }, { text: 'b' }]])).sendStream('Hi')
    await stream.next()
    await idle()
    await stream.return?.()
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  test('ends the run when the reader throws', async () => {
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const reading = async () => {
      for await (const { output } of new Agent(model).sendStream('Hi')) {
        if (output === 'a') throw new Error('reader')
      }
    }
    await expect(reading()).rejects.toThrow('reader')
    expect(model.closed).toBe(1)
  })

  test('runs once: the chunks go to the one that pulls them', async () => {
    const model = scriptedModel(['a'])
    const stream = new Agent(model).sendStream('Hi')
    await collect(stream)
    expect(await collect(stream)).toEqual([])
    expect(model.requests).toHaveLength(1)
  })

  test('throws an error that was not awaited yet at the next pull, and never as an unhandled rejection', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'a' }, { error: { message: 'boom' } }]])).sendStream(
      'Hi',
    )
    await stream.next()
    await idle()
    await expect(collect(stream)).rejects.toBeInstanceOf(ModelError)
  })

  test('an error of a stream that is left is swallowed', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'a' }, { error: { message: 'boom' } }]])).sendStream(
      'Hi',
    )
    await stream.next()
    await idle()
    await stream.return?.()
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  test('a mistake in the options of a send rejects the first pull', async () => {
    const wrong = { maxSteps: 0 }
    const stream = new Agent(scriptedModel([])).sendStream('Hi', wrong)
    await expect((async () => stream.next())()).rejects.toBeInstanceOf(ConfigurationError)
    let pull: Promise<unknown> | undefined
    expect(() => {
      pull = new Agent(scriptedModel([])).sendStream('Hi', wrong).next()
    }).not.toThrow()
    await expect(pull).rejects.toBeInstanceOf(ConfigurationError)
  })
})
