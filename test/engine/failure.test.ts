import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError, ModelError, OrchestrationError } from '../../src/messages/errors.ts'
import { modelMessage, textOf, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { messageAccumulator } from '../../src/model/accumulator.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { recorder } from './sampleTools.ts'
import { collect, endOf, idle, rejection, watch } from './watching.ts'

const call = (id: string): ScriptTurn => [{ toolCall: { id, name: 'echo' } }]
const broken = { error: { message: 'boom', status: 500, provider: 'scripted', requestId: 'q1' } }

/** A model whose every word the test says itself. */
const modelThat = (stream: ChatModel['stream']): ChatModel => ({ ...scriptedModel([]), stream })

describe('14: a stream that breaks', () => {
  test('with an error of the provider gives a ModelError with its fields and the partial result', async () => {
    const model = scriptedModel([
      [{ responseId: 'r1' }, { text: 'Hel' }, { usage: { inputTokens: 4 } }, broken],
    ])
    const error = await rejection(new Agent(model).send('Hi'), ModelError)
    expect(error).toMatchObject({
      name: 'ModelError',
      message: 'boom',
      status: 500,
      requestId: 'q1',
      retryable: false,
    })
    expect(error.partial).toEqual({
      id: 'r1',
      output: 'Hel',
      answer: 'Hel',
      messages: [userMessage('Hi'), modelMessage('Hel', { interrupted: 'error' })],
      finishReason: 'error',
      metadata: {},
      usage: { inputTokens: 4 },
    })
  })

  test('ends in Failed, with one final chunk and nothing left open', async () => {
    const actor = new Agent(scriptedModel([[{ text: 'Hel' }, broken]])).actor({ prompt: 'Hi' })
    const watched = watch(actor)
    actor.start()
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: { name: 'ModelError', message: 'boom' },
    })
    expect(watched.finals.map(({ finishReason }) => finishReason)).toEqual(['error'])
    expect(actor.getSnapshot().matches('Failed')).toBe(true)
    expect(Object.keys(actor.getSnapshot().children)).toEqual([])
  })

  test('streams its chunks before it throws, and throws once', async () => {
    const stream = new Agent(scriptedModel([[{ text: 'Hel' }, broken]])).sendStream('Hi')
    const texts: string[] = []
    const reading = (async () => {
      for await (const { output } of stream) texts.push(output)
    })()
    await expect(reading).rejects.toBeInstanceOf(ModelError)
    expect(texts.filter((text) => text !== '')).toEqual(['Hel'])
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  test('without its end is truncated: an error, not a success, and no call of it runs', async () => {
    const echo = recorder()
    const model = scriptedModel([[{ text: 'Hel' }, { toolCall: { id: 'a', name: 'echo' } }, { cut: true }]])
    const error = await rejection(new Agent(model, { tools: [echo.tool] }).send('Hi'), ModelError)
    expect(error.code).toBe('truncated')
    expect(echo.calls).toEqual([])
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
    expect(error.partial?.messages.flatMap(toolResultsOf)[0]?.result).toContain('was not run')
  })

  test('calls whose arguments are broken are left out of what is kept', async () => {
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'echo', arguments: '{"a' } }, { cut: true }]])
    const error = await rejection(new Agent(model, { retry: { maxRetries: 0 } }).send('Hi'), ModelError)
    expect(error.partial?.messages).toEqual([userMessage('Hi')])
  })

  test('in the second step keeps the first one, valid', async () => {
    const usage = { usage: { inputTokens: 2 } }
    const model = scriptedModel([
      [{ toolCall: { id: 'a', name: 'echo' } }, usage],
      [{ text: 'Ne' }, usage, broken],
    ])
    const { partial } = await rejection(new Agent(model, { tools: [recorder().tool] }).send('Hi'), ModelError)
    expect(partial?.messages.map(textOf)).toEqual(['Hi', '', '', 'Ne'])
    expect(partial?.usage).toEqual({ inputTokens: 4 })
    expect(validateHistory(partial?.messages ?? [])).toEqual([])
  })

  test('right after a tool round, with nothing received, still ends with a marked model message', async () => {
    const model = scriptedModel([call('a'), [broken]])
    const { partial } = await rejection(new Agent(model, { tools: [recorder().tool] }).send('Hi'), ModelError)
    expect(partial?.messages.at(-1)).toEqual({ role: 'model', parts: [], metadata: { interrupted: 'error' } })
  })

  test('by an error delta of a decoder is that error, even if an end follows', async () => {
    const error = { name: 'ModelError' as const, message: 'overloaded', code: 'overloaded_error' }
    const model = scriptedModel([[{ text: 'Hel' }, { deltas: [{ type: 'error', error }] }, { cut: true }]])
    await expect(new Agent(model).send('Hi')).rejects.toMatchObject({ message: 'overloaded' })
  })
})

describe('a model that misbehaves', () => {
  test('by throwing when it is called gives a typed error', async () => {
    const foreign = modelThat(() => {
      throw new TypeError('bad url')
    })
    await expect(new Agent(foreign).send('Hi')).rejects.toMatchObject({
      name: 'ModelError',
      message: 'bad url',
      cause: { name: 'TypeError' },
      partial: { messages: [userMessage('Hi')] },
    })
    const own = modelThat(() => {
      throw new ConfigurationError('OPENAI_API_KEY is not set.')
    })
    await expect(new Agent(own).send('Hi')).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('by answering before it has returned works all the same', async () => {
    const eager = modelThat((_, sink) => {
      sink.deltas([{ type: 'text', text: 'at once' }])
      sink.deltas([{ type: 'finish', reason: 'stop' }])
      sink.end()
      return () => {}
    })
    const chunks = await collect(new Agent(eager).sendStream('Hi'))
    expect(chunks.map(({ output }) => output).join('')).toBe('at once')
  })

  test('by sending after its end has no effect', async () => {
    const chatty = modelThat((_, sink) => {
      queueMicrotask(() => {
        sink.deltas([
          { type: 'text', text: 'ok' },
          { type: 'finish', reason: 'stop' },
        ])
        sink.end()
        sink.deltas([{ type: 'text', text: 'more' }])
        sink.fail({ name: 'ModelError', message: 'late' })
        sink.end()
        setImmediate(() => sink.deltas([{ type: 'text', text: 'even more' }]))
      })
      return () => {}
    })
    expect((await new Agent(chatty).send('Hi')).output).toBe('ok')
    await idle()
  })

  test('by failing with an unknown error ends the run all the same', async () => {
    const odd = modelThat((_, sink) => {
      queueMicrotask(() => sink.fail(JSON.parse('{"name":"WeirdError","message":"odd"}')))
      return () => {}
    })
    const outcome = new Agent(odd).send('Hi').catch((error: unknown) => error)
    expect(await Promise.race([outcome, idle(100).then(() => 'hangs')])).toMatchObject({ message: 'odd' })
  })
})

describe('the machine itself breaks', () => {
  const throwing = (readNumber: number) => {
    let reads = 0
    return {
      accumulate: (...args: Parameters<typeof messageAccumulator.accumulate>) => {
        reads += 1
        if (reads === readNumber) throw new Error('bad accumulator')
        return messageAccumulator.accumulate(...args)
      },
    }
  }

  test.each([1, 2])('at read %d: an OrchestrationError that says where', async (read) => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const error = await rejection(
      new Agent(model, { accumulator: throwing(read) }).send('Hi'),
      OrchestrationError,
    )
    expect(error.message).toContain('bad accumulator')
    expect(error.state).toContain('Accumulating')
    expect(error.orchestrator).toBe('agent')
    expect(error.cause).toMatchObject({ message: 'bad accumulator' })
  })

  test('its open request is closed', async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    await rejection(new Agent(model, { accumulator: throwing(2) }).send('Hi'), OrchestrationError)
    await idle()
    expect(model.closed).toBe(1)
  })

  test('its timers are cleared', async () => {
    let open = 0
    const clock = {
      now: () => 0,
      setTimeout: () => {
        open += 1
        return open
      },
      clearTimeout: () => {
        open -= 1
      },
    }
    const consolidate = () => {
      throw new Error('bad accumulator')
    }
    await rejection(
      new Agent(scriptedModel(['a']), { accumulator: { consolidate }, clock }).send('Hi'),
      OrchestrationError,
    )
    await idle()
    expect(open).toBe(0)
  })

  test('its error carries the partial result', async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    const error = await rejection(
      new Agent(model, { accumulator: throwing(2) }).send('Hi'),
      OrchestrationError,
    )
    expect(error.partial?.messages[0]).toEqual(userMessage('Hi'))
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
  })
})

describe('input that cannot be answered', () => {
  const dangling = { type: 'toolCall' as const, id: 'x', name: 'echo', arguments: {} }

  test.each([
    ['nothing at all', {}],
    ['an empty prompt list', { prompt: [] }],
    ['a history that ends with the model', { history: [userMessage('a'), modelMessage('b')] }],
    [
      'a history with an unanswered call',
      { prompt: 'go on', history: [userMessage('a'), modelMessage([dangling])] },
    ],
  ])('%s is refused without a request', async (_, input) => {
    const model = scriptedModel([])
    const actor = new Agent(model).actor(input)
    const watched = watch(actor)
    actor.start()
    expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { name: 'ConfigurationError' } })
    expect(watched.finals).toHaveLength(1)
    expect(model.requests).toEqual([])
  })

  test('adds no message that is not of this run', async () => {
    const actor = new Agent(scriptedModel([])).actor({
      history: [userMessage('a'), modelMessage([dangling])],
    })
    actor.start()
    expect((await endOf(actor)).messages).toEqual([])
  })

  test('a history that ends with the user needs no prompt', async () => {
    const actor = new Agent(scriptedModel(['ok'])).actor({ history: [userMessage('a')] })
    actor.start()
    expect((await endOf(actor)).messages).toEqual([modelMessage('ok')])
  })

  test('a prompt may answer the calls of the history itself', async () => {
    const answer = { type: 'toolResult' as const, id: 'x', name: 'echo', result: 'by hand' }
    const model = scriptedModel(['ok'])
    const history = [userMessage('a'), modelMessage([dangling])]
    expect((await new Agent(model).send([answer], { history })).output).toBe('ok')
    expect(model.requests[0]?.messages).toHaveLength(3)
  })

  test('a mistake in the tools of a send rejects it: it does not throw past the promise', async () => {
    const agent = new Agent(scriptedModel([]))
    const tools = [recorder().tool, recorder().tool]
    let sent: Promise<unknown> | undefined
    expect(() => {
      sent = agent.send('Hi', { tools })
    }).not.toThrow()
    await expect(sent).rejects.toBeInstanceOf(ConfigurationError)
  })
})
