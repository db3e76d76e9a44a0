import { describe, expect, test } from 'vitest'
import { ModelError } from '../../src/index.ts'
import { agentAt, places, startMock, weatherTool } from './mockServer.ts'

// What the mock server can do wrong ends in a typed error, or is tried again where that may help.

const once = { retry: { maxRetries: 0 } }
const soon = { retry: { maxRetries: 2, initialDelayMs: 1, maxDelayMs: 2 } }

describe.each(places)('$provider', (place) => {
  test('reports an error in the words of the provider', async () => {
    const mock = await startMock()
    const body = { message: 'The model is asleep', type: 'invalid_request_error', code: 'asleep' }
    mock.nextRequestError(400, body)
    const failure = agentAt(mock, place, once).send('hi')
    await expect(failure).rejects.toBeInstanceOf(ModelError)
    await expect(failure).rejects.toMatchObject({
      provider: place.provider,
      status: 400,
      retryable: false,
      message: expect.stringContaining('The model is asleep'),
      requestId: expect.any(String),
    })
  })

  test.each([429, 500, 503, 529])('tries again after %i', async (status) => {
    const mock = await startMock()
    mock.onMessage('hi', { content: 'Hello.' })
    mock.nextRequestError(status, { message: 'not now' })
    expect((await agentAt(mock, place, soon).send('hi')).output).toBe('Hello.')
    expect(mock.getRequests()).toHaveLength(2)
  })

  test('refuses a wrong key without showing it', async () => {
    const mock = await startMock()
    const agent = agentAt(mock, place, { ...once, apiKey: 'wrong-key-0123456789' })
    const failure = agent.send('hi')
    await expect(failure).rejects.toMatchObject({ status: 401, retryable: false })
    await expect(failure).rejects.not.toThrow(/wrong-key/)
  })

  // Gemini sends a call whole, with everything that belongs to it: there is nothing to cut.
  test.skipIf(place.provider === 'google')(
    'reports a stream that was cut, and runs none of its calls',
    async () => {
      const mock = await startMock()
      const { weather, asked } = weatherTool()
      const toolCalls = [{ name: 'get_weather', arguments: { city: 'Oslo' } }]
      mock.onMessage('Weather?', { toolCalls }, { truncateAfterChunks: 2, chunkSize: 4, latency: 5 })
      const failure = agentAt(mock, place, { ...once, tools: [weather] }).send('Weather?')
      await expect(failure).rejects.toMatchObject({ name: 'ModelError', retryable: true })
      expect(asked).toEqual([])
    },
  )

  test('keeps the text of a stream that was cut', async () => {
    const mock = await startMock()
    const content = 'One two three four five six seven eight nine ten.'
    mock.onMessage('Count.', { content }, { truncateAfterChunks: 6, chunkSize: 4, latency: 5 })
    const failure = agentAt(mock, place, once).send('Count.')
    await expect(failure).rejects.toMatchObject({
      name: 'ModelError',
      partial: { output: expect.stringMatching(/^One /), finishReason: 'error' },
    })
  })

  test.each([
    ['dropped', { dropRate: 1 }],
    ['garbled', { malformedRate: 1 }],
    ['refused for their number', { rateLimitRate: 1 }],
    ['cut off', { disconnectRate: 1 }],
  ])('gives up with a typed error when all requests are %s', async (_, chaos) => {
    const mock = await startMock()
    mock.onMessage('hi', { content: 'Hello.' }).setChaos(chaos)
    const failure = agentAt(mock, place, soon).send('hi')
    await expect(failure).rejects.toMatchObject({ name: 'ModelError', provider: place.provider })
    expect(mock.getRequests().length).toBeGreaterThanOrEqual(1)
    mock.clearChaos()
    expect((await agentAt(mock, place).send('hi')).output).toBe('Hello.')
  })
})
