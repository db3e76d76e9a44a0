import { describe, expect, test } from 'vitest'
import { errorBody, errorFirst, errorMid, failures, openedAnswer, oslo } from './failures.ts'
import { farewell, hostileAgent, lastTurn, modelError, run } from './hostileRun.ts'
import { answer } from './wire.ts'

// Errors after a 200: instead of the stream, as its first event, in its middle. Rows 42, 45, 58, 90 and 92 of the list
// of wire failures. What was shown is never silently shown again.

describe.each(failures)('$model', (wire, forms) => {
  const opened = openedAnswer(wire)

  test.each(forms)('error_first ($form): a typed error in the words of the provider', (failure) =>
    errorFirst(wire, failure),
  )

  test.each(forms)(
    'error_mid ($form): the text so far is kept, its call never runs, nothing is asked again',
    (failure) => errorMid(wire, failure),
  )

  test('error_retried: an error before anything was shown is tried again', async () => {
    const [failure] = forms
    const options = { retry: { maxRetries: 1, initialDelayMs: 1 } }
    const outcome = await run(wire, [answer(wire, [failure?.event ?? '']), lastTurn(wire)], options)

    expect(outcome.error).toBeUndefined()
    expect(outcome.bodies).toHaveLength(2)
    expect(outcome.bodies[1]).toEqual(outcome.bodies[0])
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('error_restarted: with midStream the answer starts over, and listeners get an event', async () => {
    const [failure] = forms
    const answers = [answer(wire, [...opened, failure?.event ?? '']), lastTurn(wire)]
    const { agent, ran } = await hostileAgent(wire, answers, {
      retry: { maxRetries: 1, initialDelayMs: 1, midStream: true },
    })
    const actor = agent.actor({ prompt: 'How is the weather?' })
    const restarts: boolean[] = []
    actor.on('retry', ({ restart }) => restarts.push(restart))
    const done = new Promise((resolve) => actor.subscribe({ complete: () => resolve(undefined) }))
    actor.start()
    await done

    expect(actor.getSnapshot().output).toMatchObject({ status: 'complete', output: farewell })
    expect(restarts).toEqual([true])
    expect(ran).toEqual([])
  })

  test.each(['application/json', wire.contentType])(
    'error_body (%s): a JSON error instead of a stream is a typed error',
    (type) => errorBody(wire, type),
  )

  test('error_closes: after an error the connection is closed, even if the server would go on', async () => {
    const [failure] = forms
    const stalling = answer(wire, [...opened, failure?.event ?? ''], 'stall')
    const { agent, server } = await hostileAgent(wire, [stalling])

    await expect(agent.send('How is the weather?')).rejects.toMatchObject(failure?.expected ?? {})
    await server.left()
  })

  test('error_after_tools: an error in the second turn loses nothing of the first', async () => {
    const [failure] = forms
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const outcome = await run(wire, [first, answer(wire, [failure?.event ?? ''])])

    expect(modelError(outcome)).toMatchObject(failure?.expected ?? {})
    expect(outcome.ran).toHaveLength(1)
    expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(outcome.result.usage).toMatchObject({ inputTokens: expect.any(Number) })
  })
})
