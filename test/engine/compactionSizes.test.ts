/** When a conversation is compacted, how much of it stays, and what is gained: to the character. */
import { describe, expect, test } from 'vitest'
import { createActor, waitFor } from 'xstate'
import { charactersIn, sizeOf } from '../../machines/compaction/requestSize.ts'
import {
  Agent,
  type ChatMessage,
  modelMessage,
  textOf,
  tool,
  userMessage,
  validateHistory,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { long, overflow, ran, talk } from './compactedRuns.ts'

/** As long as nothing is measured, a token is four characters; no tools are `[]`. */
const tokens = (characters: number): number => Math.ceil(characters / 4)
const noTools = '[]'.length

const prompt = userMessage('Go on.')
const whole = [...talk, prompt]

/** The tokens of the last messages. */
const ofLast = (count: number, messages: ChatMessage[] = whole): number =>
  messages.slice(-count).reduce((sum, message) => sum + tokens(sizeOf(message)), 0)

/** A message of this size. */
const sized = (characters: number, make: typeof userMessage): ChatMessage =>
  make('x'.repeat(characters - sizeOf(make(''))))

const round = (id: string, result: string): ChatMessage[] => [
  modelMessage([{ type: 'toolCall', id, name: 'read', arguments: { id } }]),
  userMessage([{ type: 'toolResult', id, name: 'read', result }]),
]

describe('what is kept', () => {
  test.each([1, 2, 3, 4, 7])(
    'is the last %i messages if they are just as long as they may be',
    async (count) => {
      const kept = async (keepTokens: number) => {
        const { compactions } = await ran([overflow(), 'A summary.', 'Done.'], { compaction: { keepTokens } })
        return compactions.map((each) => each.kept)
      }
      expect(await kept(ofLast(count))).toEqual([count])
      // One token less, one message less; the last one always stays.
      expect(await kept(ofLast(count) - 1)).toEqual([Math.max(1, count - 1)])
    },
  )

  test('begins after a result whose call is not kept', async () => {
    const history = [...talk, userMessage('Read.'), ...round('a', long), modelMessage('Read.')]
    for (const [count, kept] of [
      [2, 2],
      [3, 2],
      [4, 4],
    ] as const) {
      const { compactions, requests } = await ran(
        [overflow(), 'A summary.', 'Done.'],
        { compaction: { keepTokens: ofLast(count, [...history, prompt]) } },
        history,
      )
      expect(compactions).toMatchObject([{ kept }])
      expect(validateHistory(requests.at(-1)?.messages ?? [])).toEqual([])
    }
  })
})

describe('a request that is refused is not compacted', () => {
  const refused = { result: { code: 'context_overflow' }, compactions: [] }

  test('if all of it is to be kept', async () => {
    const history = [sized(3000, userMessage), modelMessage('Yes.')]
    const all = { compaction: { keepTokens: ofLast(3, [...history, prompt]) } }
    expect(await ran([overflow(), 'never'], all, history)).toMatchObject(refused)
  })

  test.each<[string, ChatMessage[], number]>([
    ['one message of 2000 characters', [sized(2000, userMessage)], 0],
    ['one message of 2001 characters', [sized(2001, userMessage)], 1],
    ['two short messages', [sized(300, userMessage), sized(300, modelMessage)], 1],
  ])('if nothing is gained: %s', async (_, older, times) => {
    const kept = [...(older.length === 1 ? [modelMessage('Yes.')] : []), prompt]
    const compaction = { keepTokens: ofLast(kept.length, kept) }
    const turns = [overflow(), 'S.', 'Done.']
    const { compactions } = await ran(turns, { compaction }, [...older, ...kept.slice(0, -1)])
    expect(compactions).toHaveLength(times)
  })

  test('if what is left is a summary, even a long one', async () => {
    const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
    const { result, compactions, requests } = await ran(
      [overflow(), 'S'.repeat(3000), [{ toolCall: { id: 'a', name: 'look' } }], overflow(), 'never'],
      { tools: [look], compaction: { keepTokens: 500 } },
      [sized(6000, userMessage), modelMessage('Yes.')],
    )
    expect(result).toMatchObject({ code: 'context_overflow' })
    expect(compactions).toHaveLength(1)
    expect(requests).toHaveLength(4)
  })
})

describe('a conversation is compacted ahead', () => {
  test('when it is longer than it may be, and not before', async () => {
    const at = async (window: number) => {
      const turns = ['A summary.', 'Done.']
      return (await ran(turns, { compaction: { window, at: 1, keepTokens: 500 } })).compactions
    }
    const length = tokens(charactersIn(whole) + noTools)
    expect(await at(length)).toEqual([])
    expect(await at(length - 1)).toMatchObject([{ tokensBefore: length, reason: 'full' }])
  })

  test('once before each request, even if it is still too long then', async () => {
    const { result, compactions, requests } = await ran(['S'.repeat(3000), 'Done.'], {
      system: 'x'.repeat(40_000),
      compaction: { window: 10_000, keepTokens: ofLast(3) },
    })
    expect(result).toMatchObject({ answer: 'Done.' })
    expect(compactions).toMatchObject([{ kept: 3 }])
    expect(requests).toHaveLength(2)
  })

  test('by clearing results if that leaves 60 % of what it may be, else by a summary', async () => {
    const history = [userMessage('Read.'), ...round('a', 'z'.repeat(9000)), modelMessage('Read.')]
    const compacted = async (window: number, padding: number) => {
      const asked = `Go on. ${'x'.repeat(padding)}`
      const compaction = { window, at: 1, keepTokens: 0 }
      return (await ran(['A summary.', 'Done.'], { compaction }, history, asked)).compactions[0]
    }
    const { tokensAfter = 0 } = (await compacted(2000, 0)) ?? {}
    const padding = (1200 - tokensAfter) * 4
    expect(await compacted(2000, padding)).toMatchObject({ kind: 'cleared', tokensAfter: 1200 })
    expect(await compacted(1999, padding)).toMatchObject({ kind: 'summarised' })
  })
})

describe('what is reported', () => {
  test.each(['', 'Be brief. '.repeat(400)])('counts the summary, and a system prompt', async (system) => {
    const { compactions } = await ran([overflow(), 'They talked.', 'Done.'], {
      system,
      compaction: { keepTokens: ofLast(3) },
    })
    const fixed = noTools + system.length
    const after = [userMessage('They talked.'), ...whole.slice(-3)]
    expect(compactions).toEqual([
      {
        type: 'compaction',
        kind: 'summarised',
        kept: 3,
        reason: 'overflow',
        tokensBefore: tokens(charactersIn(whole) + fixed),
        tokensAfter: tokens(charactersIn(after) + fixed),
      },
    ])
  })

  test('counts what is left of cleared results; the marker has no text', async () => {
    const history = [userMessage('Read.'), ...round('a', 'z'.repeat(9000)), modelMessage('Read.')]
    const { result, compactions } = await ran(
      [overflow(), 'Done.'],
      { compaction: { keepTokens: 0 } },
      history,
    )
    const note =
      '[This result of 9000 characters was cleared to save room. Call the tool again if you need it.]'
    const after = [userMessage('Read.'), ...round('a', note), modelMessage('Read.'), prompt]
    expect(compactions).toMatchObject([
      { kind: 'cleared', kept: 1, tokensAfter: tokens(charactersIn(after) + noTools) },
    ])
    expect((result as { messages: ChatMessage[] }).messages[1]).toMatchObject({ role: 'system', parts: [] })
  })
})

describe('a summary', () => {
  const compaction = { keepTokens: ofLast(3) }
  const older = whole.slice(0, -3)

  test('takes the place of what it replaces if it is a token shorter', async () => {
    const equal = textOf(sized(charactersIn(older), userMessage))
    const useless = await ran([overflow(), equal, 'never'], { compaction })
    expect(useless).toMatchObject({
      result: { message: expect.stringMatching(/did not make it shorter/) },
      compactions: [],
    })
    const shorter = await ran([overflow(), equal.slice(4), 'Done.'], { compaction })
    expect(shorter).toMatchObject({ result: { answer: 'Done.' }, compactions: [{ kept: 3 }] })
  })

  test('is asked for of half at once if the request for the whole would not fit', async () => {
    const asked = async (window: number) => {
      const options = { compaction: { ...compaction, window, at: 0.01 } }
      const { requests } = await ran(['A summary.', 'Done.'], options)
      return requests[0]?.messages ?? []
    }
    const length = tokens(charactersIn(await asked(100_000)))
    const [fits = prompt] = await asked(length + 1)
    expect(textOf(fits)).toContain(textOf(talk[0] as ChatMessage))
    expect(textOf(fits)).not.toContain('left out')
    const [tooLong = prompt] = await asked(length)
    // Of 18 older messages, the last nine.
    expect(textOf(tooLong)).toContain('[9 earlier messages are left out]\n\nAssistant: Answer 4')
  })
})

describe('a command compacts where no window is known', () => {
  const commanded = async (history: ChatMessage[]) => {
    const model = scriptedModel([[{ toolCall: { id: 'x', name: 'look' } }], 'Done.'])
    const writer = scriptedModel(['A summary.'])
    const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
    const agent = new Agent(model, { tools: [look], compaction: { model: writer } })
    const actor = createActor(agent.machine, { input: { prompt: 'Go on.', history } })
    const kinds: string[] = []
    actor.on('tool.call', () => actor.send({ type: 'compact' }))
    actor.on('compaction', ({ kind }) => kinds.push(kind))
    actor.start()
    await waitFor(actor, ({ status }) => status === 'done')
    return { kinds, asked: writer.requests.map(({ messages: [first = prompt] }) => textOf(first)) }
  }

  test('by clearing results, if that is enough', async () => {
    const rounds = ['a', 'b'].flatMap((id) => round(id, 'z'.repeat(9000)))
    const { kinds } = await commanded([userMessage('Read.'), ...rounds, modelMessage('Read.')])
    expect(kinds).toEqual(['cleared'])
  })

  test('else by a summary of all that is older', async () => {
    const { kinds, asked } = await commanded(talk)
    expect(kinds).toEqual(['summarised'])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('<conversation>\nUser: Question 0')
  })
})
