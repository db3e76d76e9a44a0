/** The `prefix` event: what of a request differs from the one before it, and the tokens that this cost. */
import { expect, it } from 'vitest'
import { prefixSentence, type RequestPrefix, sentPrefix } from '../../machines/model/requestPrefix.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import type { AgentEmitted } from '../../src/index.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { weather } from './sampleTools.ts'

const call: ScriptTurn = [
  { toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } },
  { usage: { inputTokens: 900, cachedInputTokens: 0 } },
]

const prefixesOf = async (agent: Agent, prompt = 'Oslo?') => {
  const events: Extract<AgentEmitted, { type: 'prefix' }>[] = []
  const run = agent.start(prompt)
  run.on('prefix', (event) => events.push(event))
  await run.result
  return events
}

it('names the change, and the tokens that were not read from the cache', async () => {
  const model = scriptedModel([
    call,
    [{ text: 'Warm.' }, { usage: { inputTokens: 950, cachedInputTokens: 200 } }],
  ])
  const prepareStep = ({ step }: { step: number }) => (step === 2 ? { system: 'Be kind.' } : {})
  const agent = new Agent(model, { tools: [weather], system: 'Be brief.', prepareStep })
  expect(await prefixesOf(agent)).toEqual([{ type: 'prefix', step: 2, changed: ['system'], lostTokens: 700 }])
})

it('has no number where the provider does not report what it reads', async () => {
  const model = scriptedModel([call, [{ text: 'Warm.' }, { usage: { inputTokens: 950 } }]])
  const prepareStep = ({ step }: { step: number }) => (step === 2 ? { tools: [] } : {})
  const agent = new Agent(model, { tools: [weather], prepareStep })
  expect(await prefixesOf(agent)).toEqual([{ type: 'prefix', step: 2, changed: ['tools'] }])
})

it('is not there for a run whose requests only grow', async () => {
  const agent = new Agent(scriptedModel([call, 'Warm.']), { tools: [weather] })
  expect(await prefixesOf(agent)).toEqual([])
})

it('compares across the sends of a chat, also one that was stored', async () => {
  const said: string[][] = []
  const onStart = (run: { on(type: 'prefix', listener: (event: { changed: string[] }) => void): unknown }) =>
    void run.on('prefix', ({ changed }) => said.push(changed))
  const agent = new Agent(scriptedModel(['A', 'B', 'C']))
  const chat = new Chat(agent)
  await chat.send('1', { onStart })
  await chat.send('2', { onStart })
  const stored = JSON.parse(JSON.stringify(chat))
  stored.history[0].parts[0].text = 'Edited'
  await Chat.from(agent, stored).send('3', { onStart, system: 'Be kind.' })
  expect(said).toEqual([['system', 'history']])
})

it('is kept with a stored run', async () => {
  const asking = { ...weather, needsApproval: true }
  const first = await new Agent(scriptedModel([call]), { tools: [asking] }).send('Oslo?')
  const { snapshot, calls } = JSON.parse(JSON.stringify(first.pendingApproval))
  const changed: string[][] = []
  const run = new Agent(scriptedModel(['Warm.']), { tools: [asking], system: 'Be kind.' }).start({
    snapshot,
    decisions: { [calls[0].id]: true },
  })
  run.on('prefix', (event) => changed.push(event.changed))
  await run.result
  expect(changed).toEqual([['system']])
})

it('is one sentence for people', () => {
  expect(prefixSentence({ changed: ['system', 'tools'], lostTokens: 1200 })).toBe(
    'The request differs from the one before: the system prompt and the tools changed, 1,200 tokens were not read from the cache.',
  )
})

it('is made of hashes that are continued, and are those of the whole history', () => {
  const model = scriptedModel([])
  const said = Array.from({ length: 40 }, (_, at) =>
    at % 2 ? modelMessage(`a${at}`) : userMessage(`q${at}`),
  )
  const sent = (messages: ChatMessage[], before?: RequestPrefix) => sentPrefix(model, { messages }, before)
  let before: RequestPrefix | undefined
  for (const count of [1, 3, 5, 5, 29, 31, 3, 39]) {
    const messages = said.slice(0, count)
    const { prefix, changed } = sent(messages, before)
    expect(prefix).toEqual(sent(structuredClone(messages)).prefix)
    expect(changed).toEqual(count === 3 && before?.messages === 31 ? ['history'] : [])
    before = prefix
  }
  // Another beginning before the same last message is another history.
  const fork = [userMessage('other'), ...said.slice(1, 39)]
  expect(sent(fork, before).changed).toEqual(['history'])
  expect(sent(fork).prefix).toEqual(sent(structuredClone(fork)).prefix)
})
