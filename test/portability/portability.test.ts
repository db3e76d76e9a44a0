import { describe, expect, test } from 'vitest'
import { textOf, toolCallsOf, validateHistory } from '../../src/index.ts'
import { wireItems } from '../recordings/wireItems.ts'
import { agentProtocol, historyFrom, takeOver } from './providerHost.ts'
import { firstWords, lastWords, thought } from './source.ts'
import { sources } from './sources.ts'
import { expectAcceptable } from './wireRules.ts'

// A conversation begun with one provider is continued with any other, and may come back to the first.

const targets = [
  'openai:gpt-5-mini',
  'openai-responses:gpt-5-mini',
  'anthropic:claude-sonnet-5',
  'google:gemini-2.5-flash',
  'google:gemini-3-flash',
  'ollama:qwen3:8b',
  'mistral:mistral-small-latest',
  'cohere:command-a-03-2025',
]

describe.each(sources)('a history made by $protocol', (source) => {
  const foreign = targets.filter(
    (target) => agentProtocol(target) !== source.protocol || target.startsWith('openai:'),
  )

  test('is valid, keeps the text apart from the thoughts, and gives every call an id of its own', async () => {
    const history = await historyFrom(source)
    expect(validateHistory(history)).toEqual([])
    expect(history.map(textOf).filter(Boolean)).toEqual([
      'How is the weather in Oslo and Rome?',
      firstWords,
      lastWords,
    ])
    const ids = history.flatMap(toolCallsOf).map(({ id }) => id)
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(3)
    expect(JSON.parse(JSON.stringify(history))).toEqual(history)
  })

  test.each(foreign)('is accepted by %s', async (target) => {
    const protocol = agentProtocol(target)
    const { body } = await takeOver(target, await historyFrom(source))
    expectAcceptable(protocol, body)

    const items = wireItems(protocol, body)
    expect(items.filter(({ kind }) => kind === 'call')).toHaveLength(3)
    expect(items.filter(({ kind }) => kind === 'result')).toHaveLength(3)
    const said = items.flatMap((item) => (item.kind === 'user' ? [item.text] : []))
    expect(said).toEqual(['How is the weather in Oslo and Rome?', 'And tomorrow?'])
    const text = JSON.stringify(body)
    expect(text).toContain(firstWords)
    expect(text).toContain(lastWords)
    for (const secret of [thought, ...source.sealed]) expect(text).not.toContain(secret)
    for (const key of ['metadata', 'providerCallIds', 'layout', 'ownIds'])
      expect(body).not.toHaveProperty(key)
  })

  test.each(foreign)('comes back from %s with its seals unbroken', async (target) => {
    const history = await historyFrom(source)
    const abroad = await takeOver(target, history)
    const { body } = await takeOver(source.model, [...history, ...abroad.messages], 'And then?')
    const text = JSON.stringify(body)
    for (const piece of source.returned) expect(text).toContain(piece)
    if (source.protocol === 'openai-responses') {
      // The provider knows its own part: only what was said elsewhere, and the new question, are sent.
      const said = wireItems(source.protocol, body).map((item) => ('text' in item ? item.text : ''))
      expect(said).toEqual(['Be brief.', 'And tomorrow?', lastWords, 'And then?'])
      // The ids it made itself it knows again, whatever they look like.
    } else expectAcceptable(source.protocol, body, /^[\s\S]*$/)
  })
})

test('the same foreign id gives the same substitute in every request', async () => {
  const [source] = sources
  if (!source) throw new Error('There is no source.')
  const history = await historyFrom(source)
  const ids = async () =>
    wireItems('mistral', (await takeOver('mistral', history)).body).map((item) =>
      'id' in item ? item.id : '',
    )
  expect(await ids()).toEqual(await ids())
})

test('a stateless conversation with the responses API carries its encrypted thoughts itself', async () => {
  const source = sources.find(({ protocol }) => protocol === 'openai-responses')
  if (!source) throw new Error('There is no source.')
  const history = await historyFrom(source)
  const { body } = await takeOver(source.model, history, 'And then?', { store: false })
  expect(body).not.toHaveProperty('previous_response_id')
  expect(JSON.stringify(body)).toContain('"encrypted_content":"sealed-responses+/=="')
  expectAcceptable(source.protocol, body)
})
