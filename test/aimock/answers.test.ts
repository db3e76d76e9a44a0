import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toolCallsOf, toolResultsOf, validateHistory } from '../../src/index.ts'
import { agentAt, places, startMock, weatherTool } from './mockServer.ts'

// Another team's idea of what the providers say: every preset gets along with a mock server that is not ours.

describe.each(places)('$provider', (place) => {
  test('streams a text in pieces', async () => {
    const mock = await startMock()
    const content = 'Oslo lies at the end of a fjord: 🇳🇴, “quotes”, \\ and \n lines.'
    mock.onMessage('Where is Oslo?', { content }, { chunkSize: 5 })
    const pieces: string[] = []
    let finishReason: string | undefined
    for await (const chunk of agentAt(mock, place).sendStream('Where is Oslo?')) {
      if (chunk.output !== '') pieces.push(chunk.output)
      if (chunk.finishReason !== 'unspecified') finishReason = chunk.finishReason
    }
    expect(pieces.join('')).toBe(content)
    expect(pieces.length).toBeGreaterThan(3)
    expect(finishReason).toBe('stop')
  })

  test('answers two calls in one round and reads what follows', async () => {
    const mock = await startMock()
    const { weather, asked } = weatherTool()
    const call = (city: string, id: string) => ({ name: 'get_weather', arguments: { city }, id })
    const toolCalls = [call('Oslo', 'call_oslo'), call('Rome', 'call_rome')]
    mock.on({ hasToolResult: true }, { content: 'Warm in both.' })
    mock.on({ userMessage: 'Weather?', hasToolResult: false }, { toolCalls })
    const result = await agentAt(mock, place, { tools: [weather], system: 'Be brief.' }).send('Weather?')

    expect(asked).toEqual(['Oslo', 'Rome'])
    expect(result.output).toBe('Warm in both.')
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(validateHistory(result.messages)).toEqual([])
    const [calls = []] = result.messages.map(toolCallsOf).filter((each) => each.length > 0)
    const [results = []] = result.messages.map(toolResultsOf).filter((each) => each.length > 0)
    expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    expect(mock.getRequests()).toHaveLength(2)
  })

  test('goes on from a history with a tool round', async () => {
    const mock = await startMock()
    const { weather } = weatherTool()
    const toolCalls = [{ name: 'get_weather', arguments: { city: 'Oslo' } }]
    mock.onMessage('And tomorrow?', { content: 'The same.' })
    mock.on({ hasToolResult: true }, { content: 'Warm.' })
    mock.on({ userMessage: 'Weather?', hasToolResult: false }, { toolCalls })
    const agent = agentAt(mock, place, { tools: [weather] })
    const first = await agent.send('Weather?')
    const second = await agent.send('And tomorrow?', { history: first.messages })
    expect(second.output).toBe('The same.')
  })

  test('takes text before and after calls as the mock orders it', async () => {
    const mock = await startMock()
    const { weather, asked } = weatherTool()
    const text = (text: string) => ({ type: 'text' as const, text })
    const call = { type: 'toolCall' as const, name: 'get_weather', arguments: { city: 'Oslo' }, id: 'call_1' }
    mock.on({ hasToolResult: true }, { content: 'Warm.' })
    mock.on(
      { userMessage: 'Weather?', hasToolResult: false },
      { blocks: [text('Let me see. '), call, text('One moment.')] },
    )
    const result = await agentAt(mock, place, { tools: [weather] }).send('Weather?')
    expect(asked).toEqual(['Oslo'])
    expect(result.output).toContain('Let me see.')
    expect(result.output).toMatch(/Warm\.$/)
  })

  // The mock writes Cohere's thoughts as if they were text, and gives Ollama's a name that Ollama does not know.
  test.skipIf(['cohere', 'ollama'].includes(place.provider))('keeps thinking out of the text', async () => {
    const mock = await startMock()
    mock.onMessage('Think.', { content: 'Done.', reasoning: 'First this, then that.' })
    // Else it would let only the models think that it knows to do so.
    const headers = { 'x-aimock-strict': 'false' }
    const result = await agentAt(mock, place, { headers }).send('Think.')
    expect(result.output).toBe('Done.')
    expect(result.metadata.thinking).toBe('First this, then that.')
  })

  test('gives typed output', async () => {
    const mock = await startMock()
    const agent = agentAt(mock, place)
    if (!agent.model.profile.nativeSchema) return
    mock.onMessage('Oslo', { content: { city: 'Oslo', celsius: 21 } })
    const { output } = await agent.sendFor('Oslo', z.object({ city: z.string(), celsius: z.number() }))
    expect(output).toEqual({ city: 'Oslo', celsius: 21 })
  })
})
