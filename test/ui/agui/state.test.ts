/** The state that tools share with a page: AG-UI's own client ends with what the last tool set. */
import { HttpAgent } from '@ag-ui/client'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/Agent.ts'
import type { JsonValue } from '../../../src/messages/json.ts'
import { scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../../src/tools/tool.ts'
import { aguiHandler, type Page } from '../../../src/ui/index.ts'

/** Plays a run whose tool sets these states, one after the other: the events about it, and the state of the client. */
const played = async (states: readonly JsonValue[]) => {
  const set = tool({
    name: 'set',
    description: 'Sets the state',
    execute: (_, { context: { page } }: ToolContext<{ page: Page }>) => {
      for (const state of states) page.setState(state)
    },
  })
  const model = scriptedModel([[{ toolCall: { id: 'c', name: 'set' } }], 'Done.'])
  const handler = aguiHandler(new Agent(model, { tools: [set] }), {
    context: (_request, _chatId, page) => ({ page }),
  })
  const client = new HttpAgent({
    url: 'http://localhost/agent',
    fetch: (url, init) => handler(new Request(url, init)),
    initialMessages: [{ id: '1', role: 'user', content: 'Go' }],
    initialState: { postcards: 0 },
  })
  const types: string[] = []
  await client.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) })
  return { state: client.state as JsonValue, types: types.filter((type) => type.startsWith('STATE')) }
}

const cards = Array.from({ length: 20 }, (_, index) => ({ to: `city ${index}`, sent: false }))
const long = { title: 'Postcards', cards, 'a/b': { '~': 1 }, left: null as JsonValue }

describe('the state of a page', () => {
  it.each<[string, JsonValue[], string[]]>([
    ['is sent whole at first', [long], ['STATE_SNAPSHOT']],
    ['is sent as changes after that', [long, { ...long, title: 'Cards' }], ['STATE_SNAPSHOT', 'STATE_DELTA']],
    ['may gain and lose fields', [long, { cards, title: 'x', more: [1] }], ['STATE_SNAPSHOT', 'STATE_DELTA']],
    [
      'may gain and lose items of a list',
      [
        long,
        { ...long, cards: [...cards, { to: 'Rome', sent: true }] },
        { ...long, cards: cards.slice(0, 17) },
      ],
      ['STATE_SNAPSHOT', 'STATE_DELTA', 'STATE_DELTA'],
    ],
    [
      'may have names with the signs of paths',
      [long, { ...long, 'a/b': { '~': 2, '~1/': 3 } }],
      ['STATE_SNAPSHOT', 'STATE_DELTA'],
    ],
    ['is not sent again where nothing has changed', [long, { ...long }], ['STATE_SNAPSHOT']],
    ['is sent whole where that is shorter', [long, { a: 1 }], ['STATE_SNAPSHOT', 'STATE_SNAPSHOT']],
    ['may be of another kind', [[1, 2], { a: 1 }, null, 'text'], Array(4).fill('STATE_SNAPSHOT')],
    [
      'is sent whole where clients refuse its names',
      [long, { ...long, constructor: 1 }],
      ['STATE_SNAPSHOT', 'STATE_SNAPSHOT'],
    ],
  ])('%s', async (_, states, events) => {
    const { state, types } = await played(states)
    expect(types).toEqual(events)
    expect(state).toEqual(states.at(-1))
  })
})
