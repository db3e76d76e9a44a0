import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listProviders, textOf, toolCallsOf, toolResultsOf, validateHistory } from '../../src/index.ts'
import { type Answer, recordedAnswer } from './recordedAnswer.ts'
import {
  type Chunking,
  type Conversation,
  hasRecordings,
  loadConversations,
  loadReplayer,
  missingRecordings,
  providerOf,
  type Recording,
} from './recordings.ts'
import {
  type Replayed,
  readRequest,
  recordedModel,
  replayConversation,
  tailOf,
} from './replayConversation.ts'

// A recorded conversation, driven by our own tool loop over a socket, asks what the recorded client asked: as many
// requests, every call answered in the next one under the provider's id with the recorded result, the same last words.

if (!hasRecordings) console.log(missingRecordings)

type Played = Replayed & { conversation: Conversation; answers: Answer[] }

const presetOf = ({ protocol, provider }: Conversation): string => {
  if (protocol !== 'openai-chat') return providerOf(protocol)
  const own = provider === 'ollama' ? 'ollama-openai' : provider
  return listProviders().some(({ name }) => name === own) ? own : 'openai'
}

type Play = { as: string; chunking: Chunking; modelOf(conversation: Conversation, first: Recording): string }

const recorded: Play['modelOf'] = (conversation, first) => `${presetOf(conversation)}:${recordedModel(first)}`

const plays: Play[] = [
  { as: 'the recorded model', chunking: 'whole', modelOf: recorded },
  { as: 'the default model', chunking: 'whole', modelOf: ({ protocol }) => providerOf(protocol) },
  { as: 'the recorded model, in random pieces', chunking: 'random', modelOf: recorded },
]

/** The answers of the exchanges, read once for all plays. */
const known = new Map<string, Promise<Answer>>()

describe.skipIf(!hasRecordings).each(plays)('as $as', ({ chunking, modelOf }) => {
  let server: Awaited<ReturnType<Awaited<ReturnType<typeof loadReplayer>>['serve']>>
  beforeAll(async () => {
    server = await (await loadReplayer()).serve({ chunking, seed: 11 })
  })
  afterAll(() => server.close())

  const answerTo = (exchange: Recording): Promise<Answer> => {
    const answer = known.get(exchange.id) ?? recordedAnswer(exchange, server.add(exchange))
    known.set(exchange.id, answer)
    return answer
  }

  test.each(hasRecordings ? loadConversations() : [])('$id', async (conversation) => {
    const { exchanges } = conversation
    const [first] = exchanges
    if (!first) throw new Error('The recording is empty.')
    const served = server.conversation(conversation)
    const replayed = await replayConversation(conversation, served, modelOf(conversation, first))
    const answers = await Promise.all(exchanges.map(answerTo))
    const played = { ...replayed, conversation, answers }

    expect(replayed.requests).toHaveLength(exchanges.length)
    checkHistory(played)
    exchanges.forEach((_, place) => {
      checkAnswers(played, place)
      checkPairs(played, place)
      checkSeals(played, place)
    })
  })
})

const checkHistory = ({ results, history, answers }: Played): void => {
  for (const { messages } of results) expect(validateHistory(messages)).toEqual([])
  expect(validateHistory(history).filter(({ code }) => code !== 'notAlternating')).toEqual([])
  const last = history.at(-1)
  expect(last?.role).toBe('model')
  expect(last && textOf(last)).toBe(answers.at(-1)?.text)
  expect(history.flatMap(toolResultsOf)).toHaveLength(history.flatMap(toolCallsOf).length)
  expect(history.flatMap(toolResultsOf).filter(({ isError }) => isError)).toEqual([])
}

/** Every call of the exchange before is answered in this request: in order, under its id, with the recorded text. */
const checkAnswers = ({ conversation, requests, answers }: Played, place: number): void => {
  const { protocol, exchanges } = conversation
  const { toolCalls = [] } = answers[place - 1] ?? {}
  const given = tailOf(requests[place]?.items ?? []).filter((item) => item.kind === 'result')
  expect(given).toHaveLength(toolCalls.length)
  toolCalls.forEach((call, nth) => {
    // Gemini 2 takes no ids back.
    if (call.id && protocol !== 'google') expect(given[nth]?.id).toBe(call.id)
  })
  const recorded = readRequest(protocol, exchanges[place]?.request.body).items
  const expected = tailOf(recorded).filter((item) => item.kind === 'result')
  const texts = (items: { text: string }[]) => items.map(({ text }) => text).sort()
  if (given.length > 0 && !answers[place - 1]?.isError) expect(texts(given)).toEqual(texts(expected))
}

/** Every call a request holds has its result there, in the same order and under the same id. */
const checkPairs = ({ requests }: Played, place: number): void => {
  const { items = [], body } = requests[place] ?? {}
  const calls = items.filter((item) => item.kind === 'call')
  const results = items.filter((item) => item.kind === 'result')
  if (body?.previous_response_id) expect(calls).toEqual([])
  else expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
}

/** Signatures and encrypted thoughts that led to a call come back with it, unchanged. */
const checkSeals = ({ conversation, requests, answers }: Played, place: number): void => {
  const before = conversation.exchanges[place - 1]
  if (!before || answers[place - 1]?.toolCalls.length === 0) return
  const request = JSON.stringify(requests[place]?.body)
  for (const seal of sealsIn(conversation, before)) expect(request).toContain(JSON.stringify(seal))
}

const sealsIn = ({ protocol }: Conversation, { request, response }: Recording): string[] => {
  const isStored = readRequest(protocol, request.body).body.store !== false
  if (protocol === 'openai-responses' && isStored) return []
  // Encrypted content is sent again and again while it grows: the finished item counts.
  const lines = response.body
    .split('\n')
    .filter((line) => !/"type": ?"response\.(?!output_item.done)/.test(line))
  const seals = lines
    .join('\n')
    .matchAll(/"(thoughtSignature|signature|encrypted_content)": ?("(?:[^"\\]|\\.)+")/g)
  return [...seals].map(([, , seal]): string => JSON.parse(seal ?? '""'))
}
