// The simulator is a provider like any other: everything here goes through real agents, over real sockets.
import { describe, expect, it } from 'vitest'
import { createActor, waitFor } from 'xstate'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { listModels } from '../../providers/registry.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { createDecision } from '../../src/agent/createDecision.ts'
import { agentOn, calculator, callsIn, simulated, time, weather } from './cities.ts'

const wires = [
  'openai:simulator',
  'openai-responses:gpt-6-luna',
  'anthropic:simulator',
  'anthropic:claude-sonnet-5',
]

describe.each(wires)('%s', (model) => {
  it('calls the tools that fit, once for each place, in one round', async () => {
    const agent = await agentOn(model, { tools: [weather, time, calculator] })
    const result = await agent.send('What is the weather in Oslo and Rome? And the time in Tokyo?')
    expect(callsIn(result)).toEqual([
      ['get_weather', { city: 'Oslo' }],
      ['get_weather', { city: 'Rome' }],
      ['get_time', { city: 'Tokyo' }],
    ])
    expect(result.messages).toHaveLength(4)
    expect(result.output).toContain('city Rome, degrees 4, sky clear')
    expect(result.output).toContain('It is noon in Tokyo.')
    expect(result.output).toContain('simulator')
    expect(result.finishReason).toBe('stop')
    expect(result.usage?.inputTokens).toBeGreaterThan(0)
    expect(result.usage?.outputTokens).toBeGreaterThan(0)
  })

  it('calls one tool after the other where calls in parallel are not wanted', async () => {
    const agent = await agentOn(model, { tools: [weather], parallelToolCalls: false })
    const result = await agent.send('The weather in Oslo and Rome?')
    expect(result.messages.map(({ role }) => role)).toEqual([
      'user',
      'model',
      'user',
      'model',
      'user',
      'model',
    ])
    expect(callsIn(result)).toHaveLength(2)
  })

  it('gives the same answer and the same ids to the same conversation', async () => {
    const agent = await agentOn(model, { tools: [weather] })
    const [first, second] = [await agent.send('Weather in Oslo?'), await agent.send('Weather in Oslo?')]
    expect(second).toEqual(first)
    expect(
      new Set(first.messages.flatMap(({ parts }) => parts).flatMap((part) => ('id' in part ? [part.id] : [])))
        .size,
    ).toBe(1)
  })

  it('asks for what a tool needs and the question lacks', async () => {
    const result = await (await agentOn(model, { tools: [weather] })).send('How is the weather?')
    expect(callsIn(result)).toEqual([])
    expect(result.output).toContain('To call get_weather I need: city')
  })

  it('quotes the conversation where no rule fits', async () => {
    const chat = new Chat(await agentOn(model, { tools: [weather] }))
    await chat.send('My name is Ada.')
    expect((await chat.send('What is my name?')).output).toBe(
      'I am a simulator with a few rules, and none of them fits “What is my name?”. Before that you said “My name is Ada.”. I can call these tools: get_weather.',
    )
  })

  it('fills a schema from what its tools answered', async () => {
    const agent = await agentOn(model, { tools: [weather] })
    const cities = z.array(
      z.object({ city: z.string(), degrees: z.number(), sky: z.enum(['cloudy', 'clear']) }),
    )
    const { output } = await agent.sendFor(
      'The weather in Oslo and Ulaanbaatar?',
      z.object({ cities, summary: z.string() }),
    )
    expect(output.cities).toEqual([
      { city: 'Oslo', degrees: 4, sky: 'clear' },
      { city: 'Ulaanbaatar', degrees: 11, sky: 'clear' },
    ])
    expect(output.summary).toContain('Ulaanbaatar')
  })

  it('fills a schema from the question alone', async () => {
    const agent = await agentOn(model)
    const person = z.object({ name: z.string(), age: z.int(), city: z.string(), email: z.email().optional() })
    const { output } = await agent.sendFor('The person of 36 years is "Ada".', person)
    expect(output).toEqual({ name: 'Ada', age: 36, city: 'Ada' })
    expect((await agent.sendFor('Oslo and Rome', z.array(z.string()))).output).toEqual(['Oslo', 'Rome'])
  })

  it('reports the error of a tool as an error', async () => {
    const agent = await agentOn(model, {
      tools: [{ ...weather, execute: () => Promise.reject(new Error('no sensor')) }],
    })
    expect((await agent.send('Weather in Oslo?')).output).toContain('get_weather did not work: no sensor')
  })

  it('thinks only when it is asked to', async () => {
    const { baseUrl } = await simulated()
    const thinking = await new Agent(model, { baseUrl, thinking: true }).send('Hello')
    expect(thinking.metadata.thinking).toContain('The user says “Hello”')
    const quiet = await new Agent(model, { baseUrl, thinking: false }).send('Hello')
    expect(quiet.metadata).not.toHaveProperty('thinking')
  })
})

it('streams word by word', async () => {
  const agent = await agentOn('openai:simulator')
  const pieces: string[] = []
  for await (const { output } of agent.sendStream('Count to 12')) if (output !== '') pieces.push(output)
  expect(pieces.join('')).toBe('1 2 3 4 5 6 7 8 9 10 11 12')
  expect(pieces.length).toBeGreaterThan(1)
})

it('stops writing when the client has gone', async () => {
  const { baseUrl, close } = await simulated()
  for await (const { output } of new Agent('openai:simulator', { baseUrl }).sendStream('Count to 500')) {
    if (output !== '') break
  }
  await close()
  await expect(fetch(`${baseUrl}/models`)).rejects.toThrow()
})

it('lists itself as the only model', async () => {
  const { baseUrl } = await simulated()
  expect((await listModels('openai', { baseUrl })).map(({ id }) => id)).toEqual(['simulator'])
  expect((await listModels('anthropic', { baseUrl })).map(({ id }) => id)).toEqual(['simulator'])
})

it('chooses an event in the middle of a range', async () => {
  const { baseUrl } = await simulated()
  const guess = { description: 'Guess the number', input: z.object({ number: z.int() }) }
  const decide = createDecision({
    model: 'openai:simulator',
    baseUrl,
    events: { guess, give_up: { description: 'Stop' } },
  })
  const actor = createActor(decide, {
    input: { prompt: 'Guess my number: it lies between 40 and 61.' },
  }).start()
  const { output } = await waitFor(actor, ({ status }) => status === 'done')
  expect(output).toEqual({ type: 'guess', number: 50 })
})

it('plays the parts of a reasoning and of a reflecting model', async () => {
  const { baseUrl } = await simulated()
  const options = { baseUrl, tools: [weather] }
  const reasoning = new Agent('openai:simulator', { ...options, orchestrator: reasoningOrchestrator() })
  const reasoned = await reasoning.send('How is the weather in Oslo?')
  expect(callsIn(reasoned)).toEqual([['get_weather', { city: 'Oslo' }]])
  expect(reasoned.output).toContain('city Oslo, degrees 4')
  const reflection = new Agent('openai:simulator', { ...options, orchestrator: reflectionOrchestrator() })
  expect((await reflection.send('How is the weather in Rome?')).output).toContain('city Rome, degrees 4')
})
